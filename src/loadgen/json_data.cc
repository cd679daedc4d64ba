#include "loadgen/json_data.h"

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "loadgen/json_elements.h"

namespace ferry {

namespace {

using Json = nlohmann::json;

// What the steps of an array are read as.
struct Side {
  std::string_view field;  // of the JSON
  std::string_view kind;   // "input" or "output"
  const std::vector<TensorDescription>& tensors;
  const ShapesByName& shapes;
};

Status CollectSteps(const Json& steps, std::string_view field, std::vector<const Json*>& collected) {
  for (const Json& step : steps) {
    if (step.is_array()) {
      FERRY_RETURN_IF_ERROR(CollectSteps(step, field, collected));
    } else if (step.is_object()) {
      collected.push_back(&step);
    } else {
      return InvalidArgumentError(StrCat("\"", field, "\" step ", collected.size(), ": expected an object"));
    }
  }
  return {};
}

Result<std::vector<const Json*>> StepsOf(const Json& document, std::string_view field) {
  std::vector<const Json*> collected;
  const auto found = document.find(field);
  if (found == document.end()) return collected;
  if (!found->is_array()) return InvalidArgumentError(StrCat("\"", field, "\": expected an array"));
  if (const Status status = CollectSteps(*found, field, collected); !status.ok()) return status;
  return collected;
}

// {"b64": "..."} or an array.
Status ReadContents(const Json& contents, NamedTensor& tensor) {
  if (contents.is_array()) return AppendElements(tensor.type, contents, tensor.bytes);
  if (!contents.is_object() || !contents.contains("b64") || !contents["b64"].is_string()) {
    return InvalidArgumentError(R"(expected an array, {"b64": ".."} or {"content": .., "shape": [..]})");
  }
  std::optional<std::string> decoded = DecodeBase64(contents["b64"].get_ref<const std::string&>());
  if (!decoded) return InvalidArgumentError("\"b64\" is not base64");
  tensor.bytes = *std::move(decoded);
  return {};
}

Result<Shape> ReadShape(const Json& extents) {
  Shape shape;
  if (extents.is_array()) {
    for (const Json& extent : extents) {
      if (extent.is_number_unsigned() && std::in_range<int64_t>(extent.get<uint64_t>())) {
        shape.push_back(extent.get<int64_t>());
      }
    }
  }
  if (extents.is_array() && shape.size() == extents.size()) return shape;
  return InvalidArgumentError("\"shape\" is no array of extents of 0 or more");
}

// Of a tensor without a "shape". Expected outputs keep the extents that nothing fixes.
Result<Shape> ShapeWithoutOne(const TensorDescription& described, const Side& side, int64_t elements) {
  Result<Shape> shape = ResolveShape(described, side.shapes, elements);
  if (!shape.ok() && side.kind == "output") return described.shape;
  return shape;
}

Status CheckElements(const NamedTensor& tensor, int64_t elements) {
  if (tensor.shape.end() != std::find(tensor.shape.begin(), tensor.shape.end(), -1)) return {};
  const std::optional<int64_t> expected = ElementCount(tensor.shape);
  if (expected == elements) return {};
  return InvalidArgumentError(
      StrCat(elements, " elements do not make the shape ", ShapeToString(tensor.shape), " of one row"));
}

Result<NamedTensor> ReadTensor(const Json& json, const TensorDescription& described, const Side& side) {
  NamedTensor tensor{described.name, described.type, {}, {}};
  const bool has_content = json.is_object() && json.contains("content");
  FERRY_RETURN_IF_ERROR(ReadContents(has_content ? json["content"] : json, tensor));
  const std::optional<int64_t> elements = CountElements(tensor);
  if (!elements) {
    return InvalidArgumentError(
        StrCat(tensor.bytes.size(), " bytes are no whole number of elements of ", DataTypeName(tensor.type)));
  }
  const bool has_shape = json.is_object() && json.contains("shape");
  Result<Shape> shape = has_shape ? ReadShape(json["shape"]) : ShapeWithoutOne(described, side, *elements);
  if (!shape.ok()) return shape.status();
  if (!ShapeFits(*shape, described.shape) && has_shape) {
    return InvalidArgumentError(
        StrCat("shape ", ShapeToString(*shape), " does not fit the model's ", ShapeToString(described.shape)));
  }
  tensor.shape = *std::move(shape);
  FERRY_RETURN_IF_ERROR(CheckElements(tensor, *elements));
  return tensor;
}

Status CheckNames(const Json& step, const Side& side) {
  std::vector<std::string> names;
  for (const TensorDescription& tensor : side.tensors) names.push_back(Printable(tensor.name));
  for (const auto& [name, unused] : step.items()) {
    if (std::ranges::find(side.tensors, name, &TensorDescription::name) != side.tensors.end()) continue;
    return InvalidArgumentError(
        StrCat("the model has no ", side.kind, " ", Quoted(name), ", but ", StrJoin(names, ", ")));
  }
  return {};
}

Result<std::vector<NamedTensor>> ReadStep(const Json& step, const Side& side) {
  FERRY_RETURN_IF_ERROR(CheckNames(step, side));
  std::vector<NamedTensor> tensors;
  for (const TensorDescription& described : side.tensors) {
    const auto found = step.find(described.name);
    if (found == step.end()) {
      // What an output should be need not be known.
      if (described.optional || side.kind == "output") continue;
      return InvalidArgumentError(StrCat("input ", Quoted(described.name), " is missing"));
    }
    Result<NamedTensor> tensor = ReadTensor(*found, described, side);
    if (!tensor.ok()) return tensor.status().WithPrefix(StrCat(side.kind, " ", Quoted(described.name), ": "));
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

Result<std::vector<std::vector<NamedTensor>>> ReadSide(const Json& document, const Side& side) {
  const Result<std::vector<const Json*>> steps = StepsOf(document, side.field);
  if (!steps.ok()) return steps.status();
  std::vector<std::vector<NamedTensor>> read;
  for (const Json* step : *steps) {
    Result<std::vector<NamedTensor>> tensors = ReadStep(*step, side);
    if (!tensors.ok()) return tensors.status().WithPrefix(StrCat("\"", side.field, "\" step ", read.size(), ": "));
    read.push_back(*std::move(tensors));
  }
  return read;
}

Result<Json> ParseDocument(std::string_view text) {
  try {
    Json document = Json::parse(text);
    if (document.is_object()) return document;
    return InvalidArgumentError("expected a JSON object with \"data\"");
  } catch (const Json::exception& error) {
    return InvalidArgumentError(Printable(error.what(), 256));
  }
}

}  // namespace

Result<std::vector<DataStep>> ParseJsonSteps(std::string_view json, const ModelDescription& model,
                                             const ShapesByName& shapes) {
  const Result<Json> document = ParseDocument(json);
  if (!document.ok()) return document.status();
  auto inputs = ReadSide(*document, {"data", "input", model.inputs, shapes});
  if (!inputs.ok()) return inputs.status();
  auto expected = ReadSide(*document, {"validation_data", "output", model.outputs, {}});
  if (!expected.ok()) return expected.status();
  if (inputs->empty()) return InvalidArgumentError("\"data\" has no steps");
  if (!expected->empty() && expected->size() != inputs->size()) {
    return InvalidArgumentError(StrCat("\"validation_data\" has ", expected->size(), " steps and \"data\" ",
                                       inputs->size(), ": each needs its own"));
  }
  std::vector<DataStep> steps(inputs->size());
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].inputs = std::move((*inputs)[i]);
    if (!expected->empty()) steps[i].expected = std::move((*expected)[i]);
  }
  return steps;
}

}  // namespace ferry
