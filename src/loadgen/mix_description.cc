#include "loadgen/mix_description.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/strings.h"
#include "loadgen/option_text.h"
#include "loadgen/raw_data.h"

namespace ferry {

namespace {

using Json = nlohmann::json;

Status Expected(std::string_view what) { return InvalidArgumentError(StrCat("expected ", what)); }

Status Read(const Json& value, std::string& text) {
  if (!value.is_string()) return Expected("a string");
  text = value.get<std::string>();
  return {};
}

Status Read(const Json& value, int64_t least, int64_t& number) {
  if (!value.is_number_integer() || value.get<int64_t>() < least)
    return Expected(StrCat("a whole number from ", least));
  number = value.get<int64_t>();
  return {};
}

// "5ms", or a number of milliseconds.
Status Read(const Json& value, Duration& time) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const std::optional<Duration> read = ParseDuration(text, std::chrono::milliseconds(1));
  if (!read) return Expected("a time, as \"5ms\"");
  time = *read;
  return {};
}

Status ReadWeight(const Json& value, ClassDescription& of) {
  if (!value.is_number() || !(value.get<double>() > 0)) return Expected("a number greater than 0");
  of.weight = value.get<double>();
  return {};
}

Status ReadShapes(const Json& value, ClassDescription& of) {
  if (!value.is_object()) return Expected("an object, as {\"image\": [3, 224, 224]}");
  for (const auto& [input, extents] : value.items()) {
    Shape shape;
    if (!extents.is_array()) return Expected(StrCat("an array of extents for ", Quoted(input)));
    for (const Json& extent : extents) {
      if (const Status status = Read(extent, 0, shape.emplace_back()); !status.ok()) {
        return status.WithPrefix(StrCat(Quoted(input), ": "));
      }
    }
    of.data.shapes[input] = std::move(shape);
  }
  return {};
}

Status ReadRanges(const Json& value, ClassDescription& of) {
  if (!value.is_object()) return Expected("an object, as {\"input_ids\": [0, 30522]}");
  for (const auto& [input, ends] : value.items()) {
    if (!ends.is_array() || ends.size() != 2 || !ends[0].is_number() || !ends[1].is_number() || ends[0] >= ends[1]) {
      return Expected(StrCat("[LOW, HIGH] for ", Quoted(input)));
    }
    of.data.ranges[input] = {ends[0].dump(), ends[1].dump()};
  }
  return {};
}

Status ReadParameters(const Json& value, ClassDescription& of) {
  if (!value.is_object()) return Expected("an object");
  for (const auto& [name, content] : value.items()) {
    RequestParameter parameter{name, {}};
    if (content.is_boolean()) {
      parameter.value = content.get<bool>();
    } else if (content.is_number_integer()) {
      parameter.value = content.get<int64_t>();
    } else if (content.is_number()) {
      parameter.value = content.get<double>();
    } else if (content.is_string()) {
      parameter.value = content.get<std::string>();
    } else {
      return Expected(StrCat("a boolean, a number or a string for ", Quoted(name)));
    }
    of.data.parameters.push_back(std::move(parameter));
  }
  return {};
}

Status ReadPriority(const Json& value, ClassDescription& of) {
  int64_t priority = 0;
  FERRY_RETURN_IF_ERROR(Read(value, 0, priority));
  of.priority = static_cast<uint64_t>(priority);
  return {};
}

Status ReadTimeout(const Json& value, ClassDescription& of) {
  Duration timeout{};
  FERRY_RETURN_IF_ERROR(Read(value, timeout));
  of.timeout = std::chrono::duration_cast<std::chrono::microseconds>(timeout);
  return {};
}

Status ReadCancel(const Json& value, ClassDescription& of) {
  if (!value.is_string()) return Expected("a string");
  const auto cancel = ParseCancelOption(value.get<std::string>());
  if (!cancel) return Expected("SHARE,AFTER, as \"0.1,5ms\"");
  std::tie(of.cancel_share, of.cancel_after) = *cancel;
  return {};
}

Status ReadImageScaling(const Json& value, ClassDescription& of) {
  std::string text;
  FERRY_RETURN_IF_ERROR(Read(value, text));
  const Result<ImageScaling> scaling = ParseImageScaling(text);
  if (!scaling.ok()) return scaling.status();
  of.data.image_scaling = *scaling;
  return {};
}

using ReadField = Status (*)(const Json&, ClassDescription&);

const std::map<std::string, ReadField, std::less<>>& Fields() {
  using Class = ClassDescription;
  static const auto* const kFields = new std::map<std::string, ReadField, std::less<>>{
      {"name", [](const Json& value, Class& of) { return Read(value, of.data.class_name); }},
      {"model", [](const Json& value, Class& of) { return Read(value, of.model); }},
      {"version", [](const Json& value, Class& of) { return Read(value, of.version); }},
      {"weight", ReadWeight},
      {"batch", [](const Json& value, Class& of) { return Read(value, 1, of.data.batch_size); }},
      {"data", [](const Json& value, Class& of) { return Read(value, of.data.source); }},
      {"image_scaling", ReadImageScaling},
      {"distinct", [](const Json& value, Class& of) { return Read(value, 1, of.data.distinct); }},
      {"shapes", ReadShapes},
      {"ranges", ReadRanges},
      {"string_length", [](const Json& value, Class& of) { return Read(value, 0, of.data.string_length); }},
      {"parameters", ReadParameters},
      {"priority", ReadPriority},
      {"timeout", ReadTimeout},
      {"deadline", [](const Json& value, Class& of) { return Read(value, of.deadline); }},
      {"cancel", ReadCancel},
  };
  return *kFields;
}

Status ReadClass(const Json& json, ClassDescription& of) {
  if (!json.is_object()) return Expected("an object");
  of.data.class_name.clear();
  for (const auto& [field, value] : json.items()) {
    const auto read = Fields().find(field);
    if (read == Fields().end()) {
      std::vector<std::string> known;
      for (const auto& [name, unused] : Fields()) known.push_back(name);
      return InvalidArgumentError(StrCat("unknown field ", Quoted(field), "; known: ", StrJoin(known, ", ")));
    }
    if (const Status status = read->second(value, of); !status.ok()) return status.WithPrefix(StrCat(field, ": "));
  }
  if (of.model.empty()) return InvalidArgumentError("no model, neither here nor by --model-name");
  if (of.data.class_name.empty()) of.data.class_name = of.model;
  return {};
}

Result<ClassDescription> ClassOfFlags(const MeasureOptions& options) {
  ClassDescription of;
  of.model = options.model;
  of.version = options.version;
  of.priority = options.priority;
  if (options.queue_timeout) of.timeout = std::chrono::duration_cast<std::chrono::microseconds>(*options.queue_timeout);
  of.deadline = options.deadline;
  std::tie(of.cancel_share, of.cancel_after) = options.cancel;
  RequestDataOptions& data = of.data;
  data.class_name = options.model;
  data.source = options.input_data;
  const Result<ImageScaling> scaling = ParseImageScaling(options.image_scaling);
  if (!scaling.ok()) return scaling.status();
  data.image_scaling = *scaling;
  data.batch_size = options.batch;
  data.distinct = options.distinct;
  data.seed = options.seed;
  data.string_length = options.string_length;
  for (const std::string& text : options.shapes) {
    auto shape = ParseShapeOption(text);
    if (!shape.ok()) return shape.status();
    data.shapes.insert(std::move(shape).value());
  }
  for (const std::string& text : options.ranges) {
    auto range = ParseRangeOption(text);
    if (!range.ok()) return range.status();
    data.ranges.insert(std::move(range).value());
  }
  for (const std::string& text : options.parameters) {
    auto parameter = ParseRequestParameter(text);
    if (!parameter.ok()) return parameter.status();
    data.parameters.push_back(std::move(parameter).value());
  }
  return of;
}

}  // namespace

Result<std::vector<ClassDescription>> ReadMix(std::string_view json, const ClassDescription& defaults) {
  const Json document = Json::parse(json, nullptr, false);
  const auto list = document.is_object() ? document.find("classes") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array() || list->empty()) {
    return InvalidArgumentError("expected a JSON object with \"classes\": [{..}, ..]");
  }
  std::vector<ClassDescription> classes;
  std::set<std::string> names;
  for (const Json& each : *list) {
    ClassDescription& of = classes.emplace_back(defaults);
    const std::string where = StrCat("class ", classes.size() - 1, ": ");
    if (const Status status = ReadClass(each, of); !status.ok()) return status.WithPrefix(where);
    if (names.insert(of.data.class_name).second) continue;
    return InvalidArgumentError(
        StrCat(where, "another class has the name ", Quoted(of.data.class_name), "; give it one by \"name\""));
  }
  return classes;
}

Result<std::vector<ClassDescription>> DescribeClasses(const MeasureOptions& options) {
  Result<ClassDescription> of_flags = ClassOfFlags(options);
  if (!of_flags.ok()) return of_flags.status();
  if (options.mix.empty()) return std::vector{*std::move(of_flags)};
  const Result<std::string> json = ReadFile(options.mix);
  if (!json.ok()) return json.status();
  Result<std::vector<ClassDescription>> classes = ReadMix(*json, *of_flags);
  if (!classes.ok()) return classes.status().WithPrefix(StrCat(Printable(options.mix), ": "));
  return classes;
}

}  // namespace ferry
