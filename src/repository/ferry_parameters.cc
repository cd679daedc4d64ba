#include "repository/ferry_parameters.h"

#include "base/strings.h"

namespace ferry {

namespace {

constexpr std::string_view kPrefix = "ferry.";

Status ReadBatchSizes(const std::string& value, ModelConfig* config) {
  if (value != "measured" && value != "exact") {
    return InvalidArgumentError("allowed are 'measured' and 'exact'");
  }
  config->round_batch_sizes = value == "measured";
  return Status();
}

struct Parameter {
  std::string_view name;
  Status (*read)(const std::string& value, ModelConfig* config);
};
constexpr Parameter kParameters[] = {{"ferry.batch_sizes", ReadBatchSizes}};

Status CheckName(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Parameter& parameter : kParameters) {
    if (parameter.name == name) return Status();
    known.push_back(parameter.name);
  }
  return InvalidArgumentError(StrCat("parameter ", Quoted(name), " is unknown; there are ", StrJoin(known, ", ")));
}

}  // namespace

Result<ModelConfig> WithFerryParameters(ModelConfig config) {
  for (const auto& [name, value] : config.parameters) {
    if (name.starts_with(kPrefix)) FERRY_RETURN_IF_ERROR(CheckName(name));
  }
  for (const Parameter& parameter : kParameters) {
    const auto given = config.parameters.find(std::string(parameter.name));
    if (given == config.parameters.end()) continue;
    FERRY_RETURN_IF_ERROR(parameter.read(given->second, &config)
                              .WithPrefix(StrCat("parameter ", parameter.name, " ", Quoted(given->second), ": ")));
  }
  return config;
}

}  // namespace ferry
