#include "repository/ferry_parameters.h"

#include <algorithm>
#include <charconv>

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

Status ReadCudaGraphs(const std::string& value, ModelConfig* config) {
  if (value != "true" && value != "false") return InvalidArgumentError("allowed are 'true' and 'false'");
  const bool on_gpu = std::ranges::any_of(config->instances, [](Placement place) { return place != kOnHost; });
  config->cuda_graphs = value == "true" && on_gpu;
  return Status();
}

// The parts of a list, which blanks or commas separate.
std::vector<std::string_view> SplitList(std::string_view list) {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(" ,\t\n"), list.size());
    if (end > 0) parts.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

// "<tensor>:<dim>", a variable extent of one of `tensors`.
struct Extent {
  size_t tensor = 0;
  size_t dim = 0;
};
Result<Extent> ReadExtent(std::string_view text, std::string_view kind, const std::vector<TensorConfig>& tensors) {
  const size_t colon = text.rfind(':');
  const std::string_view name = text.substr(0, colon);
  const auto tensor = std::ranges::find(tensors, name, &TensorConfig::name);
  if (colon == std::string_view::npos || tensor == tensors.end()) {
    return InvalidArgumentError(
        StrCat(Quoted(text), ": must be <", kind, ">:<dimension>, where the ", kind, " exists"));
  }
  const std::optional<size_t> dim = ParseNumber<size_t>(text.substr(colon + 1));
  if (!dim || *dim >= tensor->dims.size() || tensor->dims[*dim] != -1) {
    return InvalidArgumentError(StrCat(Quoted(text), ": the dimension must be a variable one (-1) of dims ",
                                       ShapeToString(tensor->dims), ", counted from 0"));
  }
  if (tensor->model_dims || tensor->ragged) {
    return InvalidArgumentError(StrCat(Quoted(text), ": not together with reshape or allow_ragged_batch"));
  }
  return Extent{static_cast<size_t>(tensor - tensors.begin()), *dim};
}

template <typename Element>
std::optional<std::vector<std::byte>> ElementOf(std::string_view text) {
  Element value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return std::vector<std::byte>(bytes, bytes + sizeof(Element));
}

Result<std::vector<std::byte>> ReadElement(DataType type, std::string_view text) {
  std::optional<std::vector<std::byte>> element;
  switch (type) {
    case DataType::kInt8:
      element = ElementOf<int8_t>(text);
      break;
    case DataType::kInt16:
      element = ElementOf<int16_t>(text);
      break;
    case DataType::kInt32:
      element = ElementOf<int32_t>(text);
      break;
    case DataType::kInt64:
      element = ElementOf<int64_t>(text);
      break;
    case DataType::kUint8:
      element = ElementOf<uint8_t>(text);
      break;
    case DataType::kUint16:
      element = ElementOf<uint16_t>(text);
      break;
    case DataType::kUint32:
      element = ElementOf<uint32_t>(text);
      break;
    case DataType::kUint64:
      element = ElementOf<uint64_t>(text);
      break;
    case DataType::kFp32:
      element = ElementOf<float>(text);
      break;
    case DataType::kFp64:
      element = ElementOf<double>(text);
      break;
    default:
      // Whatever the type, its zero has only zero bits.
      if (text == "0") element.emplace(DataTypeSize(type));
  }
  if (element) return *std::move(element);
  return InvalidArgumentError(StrCat(Quoted(text), ": no value of type ", DataTypeName(type), " to pad with"));
}

// The lengths when the user names none: each at most half as long again as the one before it.
std::vector<int64_t> UsualLengths() {
  std::vector<int64_t> lengths = {8};
  for (int64_t length = 16; length <= int64_t{1} << 20; length *= 2) {
    lengths.push_back(length);
    lengths.push_back(length + length / 2);
  }
  return lengths;
}

Status AddPaddedInput(std::string_view part, ModelConfig* config) {
  const size_t equals = std::min(part.find('='), part.size());
  Result<Extent> extent = ReadExtent(part.substr(0, equals), "input", config->inputs);
  if (!extent.ok()) return extent.status();
  Result<std::vector<std::byte>> value =
      ReadElement(config->inputs[extent->tensor].type, equals < part.size() ? part.substr(equals + 1) : "0");
  if (!value.ok()) return value.status();
  std::vector<Padding::Input>& inputs = config->padding->inputs;
  auto input = std::ranges::find(inputs, extent->tensor, &Padding::Input::input);
  if (input == inputs.end()) input = inputs.insert(input, {extent->tensor, {}, *value});
  if (input->value != *value || std::ranges::find(input->dims, extent->dim) != input->dims.end()) {
    return InvalidArgumentError(StrCat(Quoted(part), ": the input has another padding too"));
  }
  input->dims.push_back(extent->dim);
  return Status();
}

Status ReadPad(const std::string& value, ModelConfig* config) {
  if (!config->combines()) return InvalidArgumentError("only with max_batch_size > 0 and dynamic_batching");
  config->padding.emplace();
  config->padding->lengths = UsualLengths();
  for (const std::string_view part : SplitList(value)) FERRY_RETURN_IF_ERROR(AddPaddedInput(part, config));
  return Status();
}

Status ReadPadLengths(const std::string& value, ModelConfig* config) {
  if (!config->padding) return InvalidArgumentError("only with ferry.pad");
  std::vector<int64_t>& lengths = config->padding->lengths;
  lengths.clear();
  for (const std::string_view part : SplitList(value)) {
    const std::optional<int64_t> length = ParseNumber<int64_t>(part);
    constexpr int64_t kLongest = int64_t{1} << 31;
    if (!length || *length < 1 || *length > kLongest) {
      return InvalidArgumentError(StrCat(Quoted(part), ": must be a number from 1 to ", kLongest));
    }
    lengths.push_back(*length);
  }
  std::ranges::sort(lengths);
  return lengths.empty() ? InvalidArgumentError("at least one length is needed") : Status();
}

// "<output>:<dim>=<input>:<dim>"
Status AddCut(std::string_view part, ModelConfig* config) {
  const size_t equals = std::min(part.find('='), part.size());
  Result<Extent> output = ReadExtent(part.substr(0, equals), "output", config->outputs);
  if (!output.ok()) return output.status();
  Result<Extent> input = ReadExtent(part.substr(std::min(equals + 1, part.size())), "input", config->inputs);
  if (!input.ok()) return input.status();
  const bool padded = std::ranges::any_of(config->padding->inputs, [&](const Padding::Input& each) {
    return each.input == input->tensor && std::ranges::find(each.dims, input->dim) != each.dims.end();
  });
  if (config->inputs[input->tensor].optional)
    return InvalidArgumentError(StrCat(Quoted(part), ": the input is optional"));
  if (!padded) return InvalidArgumentError(StrCat(Quoted(part), ": the input's dimension is not in ferry.pad"));
  config->padding->cuts.push_back({output->tensor, output->dim, input->tensor, input->dim});
  return Status();
}

Status ReadPadCut(const std::string& value, ModelConfig* config) {
  if (!config->padding) return InvalidArgumentError("only with ferry.pad");
  for (const std::string_view part : SplitList(value)) FERRY_RETURN_IF_ERROR(AddCut(part, config));
  return Status();
}

// What counts or shares out the elements of an input would go by those without padding.
Status CheckPadding(const ModelConfig& config) {
  if (!config.padding) return Status();
  const auto padded = [&](size_t input) {
    return std::ranges::find(config.padding->inputs, input, &Padding::Input::input) != config.padding->inputs.end();
  };
  for (const BatchOutput& output : config.batch_outputs) {
    const bool cut =
        std::ranges::find(config.padding->cuts, output.output, &Padding::Cut::output) != config.padding->cuts.end();
    if (cut || padded(output.source)) {
      return InvalidArgumentError(StrCat("parameter ferry.pad: batch_output ",
                                         Quoted(config.outputs[output.output].name),
                                         " or its source is padded or cut"));
    }
  }
  for (const BatchInput& input : config.batch_inputs) {
    const bool counts = input.kind != BatchInput::Kind::kItemShape && input.kind != BatchInput::Kind::kItemShapeFlatten;
    if (counts && padded(input.source)) {
      return InvalidArgumentError(StrCat("parameter ferry.pad: batch_input ", Quoted(input.name),
                                         " counts the elements of an input that is padded"));
    }
  }
  return Status();
}

struct Parameter {
  std::string_view name;
  Status (*read)(const std::string& value, ModelConfig* config);
};
// In the order in which they are read.
constexpr Parameter kParameters[] = {{"ferry.batch_sizes", ReadBatchSizes},
                                     {"ferry.cuda_graphs", ReadCudaGraphs},
                                     {"ferry.pad", ReadPad},
                                     {"ferry.pad_lengths", ReadPadLengths},
                                     {"ferry.pad_cut", ReadPadCut}};

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
  FERRY_RETURN_IF_ERROR(CheckPadding(config));
  return config;
}

}  // namespace ferry
