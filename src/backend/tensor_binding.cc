#include "backend/tensor_binding.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/strings.h"

namespace ferry {

namespace {

// The number behind the first "__" of the name.
std::optional<size_t> IndexInName(const std::string& name) {
  const size_t mark = name.find("__");
  if (mark == std::string::npos) return std::nullopt;
  return ParseNumber<size_t>(std::string_view(name).substr(mark + 2));
}

// Each tensor's index, or nothing when no name has one.
Result<std::optional<std::vector<size_t>>> Indexes(std::string_view kind, const std::vector<std::string>& names) {
  std::vector<size_t> indexes;
  for (const std::string& name : names) {
    const std::optional<size_t> index = IndexInName(name);
    if (!index) continue;
    if (std::ranges::find(indexes, *index) != indexes.end()) {
      return InvalidArgumentError(StrCat(kind, " ", Quoted(name), ": index ", *index, " is given twice"));
    }
    indexes.push_back(*index);
  }
  if (indexes.empty()) return std::optional<std::vector<size_t>>();
  if (indexes.size() != names.size()) {
    std::vector<std::string> quoted;
    for (const std::string& name : names) quoted.push_back(Quoted(name));
    return InvalidArgumentError(StrCat("of the ", kind, " names ", StrJoin(quoted, ", "),
                                       " some end in __<index> and some do not, so their order is unclear"));
  }
  return std::optional(std::move(indexes));
}

std::optional<std::vector<size_t>> ByName(const std::vector<std::string>& names, const ForwardArguments& arguments) {
  std::vector<size_t> bound;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(arguments.names, name);
    if (found == arguments.names.end()) return std::nullopt;
    bound.push_back(static_cast<size_t>(found - arguments.names.begin()));
  }
  return bound;
}

Status CheckBound(const ModelConfig& config, const ForwardArguments& arguments, const std::vector<size_t>& bound) {
  const std::string signature = StrCat("forward(", StrJoin(arguments.names, ", "), ")");
  const std::vector<std::string> names = config.ModelInputNames();
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i] >= arguments.names.size()) {
      return InvalidArgumentError(StrCat("input ", Quoted(names[i]), ": the model's ", signature, " has ",
                                         arguments.names.size(), " arguments"));
    }
    if (i < config.inputs.size() && config.inputs[i].optional && !arguments.has_default[bound[i]]) {
      return InvalidArgumentError(StrCat("input ", Quoted(names[i]), " is optional, but argument '",
                                         arguments.names[bound[i]], "' of the model's ", signature, " has no default"));
    }
  }
  for (size_t i = 0; i < arguments.names.size(); ++i) {
    if (!arguments.has_default[i] && std::ranges::find(bound, i) == bound.end()) {
      return InvalidArgumentError(StrCat("argument '", arguments.names[i], "' of the model's ", signature,
                                         " gets none of the ", names.size(), " inputs"));
    }
  }
  return Status();
}

std::vector<size_t> InOrder(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

}  // namespace

Result<InputBinding> BindInputs(const ModelConfig& config, const ForwardArguments& arguments) {
  InputBinding binding;
  if (arguments.single_dict) {
    binding.kind = InputBinding::Kind::kDict;
    return binding;
  }
  const std::vector<std::string> names = config.ModelInputNames();
  if (std::optional<std::vector<size_t>> named = ByName(names, arguments)) {
    binding.argument = *std::move(named);
  } else {
    Result<std::optional<std::vector<size_t>>> indexed = Indexes("input", names);
    if (!indexed.ok()) return indexed.status();
    binding.by_order = !indexed->has_value() && names.size() > 1;
    binding.argument = indexed->has_value() ? **indexed : InOrder(names.size());
  }
  FERRY_RETURN_IF_ERROR(CheckBound(config, arguments, binding.argument));
  return binding;
}

Result<std::vector<size_t>> BindOutputs(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const TensorConfig& output : config.outputs) names.push_back(output.name);
  Result<std::optional<std::vector<size_t>>> indexed = Indexes("output", names);
  if (!indexed.ok()) return indexed.status();
  return indexed->has_value() ? **indexed : InOrder(config.outputs.size());
}

}  // namespace ferry
