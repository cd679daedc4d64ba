#include "frontend/request_validator.h"

#include <algorithm>
#include <unordered_set>

#include "base/strings.h"
#include "frontend/request_parameters.h"

namespace ferry {

namespace {

template <typename Tensors>
Status CheckDuplicates(std::string_view kind, const Tensors& tensors) {
  if (tensors.size() < 2) return Status();
  std::unordered_set<std::string_view> names;
  for (const auto& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return InvalidArgumentError(StrCat(kind, " ", Quoted(tensor.name), " already exists in request"));
    }
  }
  return Status();
}

Status CheckData(const WireRequest& request) {
  for (const WireInput& input : request.inputs) {
    FERRY_RETURN_IF_ERROR(CheckInputParameters(input));
    FERRY_RETURN_IF_ERROR(input.data_status);
  }
  return Status();
}

// Which outputs to answer, and how.
Status ChooseOutputs(const ModelConfig& config, const WireRequest& request, ValidRequest* valid) {
  for (const WireOutput& output : request.outputs) {
    Result<int64_t> classes = ReadOutputParameters(output);
    if (!classes.ok()) return classes.status();
    valid->top_classes.push_back(*classes);
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const int index = config.FindOutput(request.outputs[i].name);
    if (index < 0) {
      return InvalidArgumentError(
          StrCat("unexpected inference output ", Quoted(request.outputs[i].name), " for model '", config.name, "'"));
    }
    if (valid->top_classes[i] > 0) {
      FERRY_RETURN_IF_ERROR(CheckClassifiable(config.outputs[static_cast<size_t>(index)]));
    }
    valid->outputs.push_back(index);
  }
  if (request.outputs.empty()) {
    for (size_t i = 0; i < config.outputs.size(); ++i) valid->outputs.push_back(static_cast<int>(i));
    valid->top_classes.resize(config.outputs.size());
  }
  return Status();
}

Status CheckInputCount(const ModelConfig& config, const WireRequest& request) {
  if (request.inputs.size() == config.inputs.size()) return Status();
  std::vector<std::string> missing;
  for (const TensorConfig& input : config.inputs) {
    if (!input.optional &&
        std::ranges::none_of(request.inputs, [&](const auto& in) { return in.name == input.name; })) {
      missing.push_back(Quoted(input.name));
    }
  }
  const bool some = !request.inputs.empty() && request.inputs.size() <= config.inputs.size();
  if (missing.empty() && some) return Status();  // optional ones are left out
  constexpr size_t kMostNamed = 4;               // of a list that the caller can make as long as it likes
  std::vector<std::string> got;
  for (size_t i = 0; i < std::min(request.inputs.size(), kMostNamed); ++i)
    got.push_back(Quoted(request.inputs[i].name));
  return InvalidArgumentError(StrCat("expected ", config.inputs.size(), " inputs but got ", request.inputs.size(),
                                     " inputs for model '", config.name, "'. Got input(s) [", StrJoin(got, ","),
                                     "], but missing required input(s) [", StrJoin(missing, ","), "]"));
}

// The configuration's index of each input on the wire.
Result<std::vector<size_t>> MatchNames(const ModelConfig& config, const WireRequest& request) {
  std::vector<size_t> indexes;
  for (const WireInput& input : request.inputs) {
    const int index = config.FindInput(input.name);
    if (index < 0) {
      return InvalidArgumentError(
          StrCat("unexpected inference input ", Quoted(input.name), " for model '", config.name, "'"));
    }
    indexes.push_back(static_cast<size_t>(index));
  }
  return indexes;
}

Status CheckBatchExtent(const ModelConfig& config, const WireRequest& request, int64_t* rows) {
  if (!config.batches()) return Status();
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const WireInput& input = request.inputs[i];
    if (input.shape.empty()) {
      return InvalidArgumentError(
          StrCat("input ", Quoted(input.name), " has no shape but model '", config.name, "' requires batch dimension"));
    }
    if (i == 0) *rows = input.shape.front();
    if (input.shape.front() != *rows) {
      return InvalidArgumentError(StrCat("input ", Quoted(input.name), " batch size ", input.shape.front(),
                                         " does not match other inputs: ", *rows, " for model '", config.name, "'"));
    }
  }
  if (*rows > config.max_batch_size) {
    return InvalidArgumentError(StrCat("inference request batch-size must be <= ", config.max_batch_size, " for '",
                                       config.name, "', got ", *rows));
  }
  return Status();
}

Status CheckType(const ModelConfig& config, const TensorConfig& expected, const WireInput& input) {
  if (input.datatype == DataTypeName(expected.type)) return Status();
  return InvalidArgumentError(StrCat("inference input ", Quoted(input.name), " data-type is ", Quoted(input.datatype),
                                     ", but model '", config.name, "' expects '", DataTypeName(expected.type), "'"));
}

Status CheckShape(const ModelConfig& config, const TensorConfig& expected, const WireInput& input) {
  if (std::ranges::any_of(input.shape, [](int64_t extent) { return extent < 0; })) {
    return InvalidArgumentError(StrCat("All input dimensions should be specified for input ", Quoted(input.name),
                                       " for model '", config.name, "', got ", ShapeToString(input.shape)));
  }
  const std::span<const int64_t> extents = std::span(input.shape).subspan(config.batches() ? 1 : 0);
  if (!ShapeMatches(expected.dims, extents)) {
    Shape allowed = expected.dims;
    if (config.batches()) allowed.insert(allowed.begin(), -1);
    std::string note;
    if (config.batches()) {
      note = StrCat(". NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be ",
                    "prepended to each input shape; its limit is ", config.max_batch_size);
    }
    return InvalidArgumentError(StrCat("unexpected shape for input ", Quoted(input.name), " for model '", config.name,
                                       "'. Expected ", ShapeToString(allowed), ", got ", ShapeToString(input.shape),
                                       note));
  }
  if (config.batches() && input.shape.front() == 0) {
    return InvalidArgumentError(StrCat("unexpected shape for input ", Quoted(input.name), " for model '", config.name,
                                       "'. Expected a batch of at least 1, got ", ShapeToString(input.shape)));
  }
  return Status();
}

Status CheckSize(const ModelConfig& config, const TensorConfig& expected, const WireInput& input) {
  const std::optional<int64_t> bytes = ByteSize(expected.type, input.shape);
  if (!bytes) {
    return InvalidArgumentError(StrCat("the shape ", ShapeToString(input.shape), " of input ", Quoted(input.name),
                                       " for model '", config.name, "' has more elements than can be addressed"));
  }
  if (input.data.size() != static_cast<size_t>(*bytes)) {
    return InvalidArgumentError(StrCat("input byte size mismatch for input ", Quoted(input.name), " for model '",
                                       config.name, "'. Expected ", *bytes, ", got ", input.data.size()));
  }
  return Status();
}

}  // namespace

Result<ValidRequest> ValidateRequest(const ModelConfig& config, const WireRequest& request) {
  ValidRequest valid;
  const Result<QueueParameters> queue = ReadRequestParameters(request.parameters);
  if (!queue.ok()) return queue.status();
  valid.queue = *queue;
  FERRY_RETURN_IF_ERROR(CheckDuplicates("input", request.inputs));
  FERRY_RETURN_IF_ERROR(CheckData(request));
  FERRY_RETURN_IF_ERROR(CheckInputCount(config, request));
  Result<std::vector<size_t>> indexes = MatchNames(config, request);
  if (!indexes.ok()) return indexes.status();
  FERRY_RETURN_IF_ERROR(CheckBatchExtent(config, request, &valid.rows));
  valid.inputs.resize(config.inputs.size());
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const WireInput& input = request.inputs[i];
    const TensorConfig& expected = config.inputs[(*indexes)[i]];
    FERRY_RETURN_IF_ERROR(CheckType(config, expected, input));
    FERRY_RETURN_IF_ERROR(CheckShape(config, expected, input));
    FERRY_RETURN_IF_ERROR(CheckSize(config, expected, input));
    valid.inputs[(*indexes)[i]] = {expected.type, input.shape, input.data};
  }
  FERRY_RETURN_IF_ERROR(CheckDuplicates("output", request.outputs));
  FERRY_RETURN_IF_ERROR(ChooseOutputs(config, request, &valid));
  return valid;
}

}  // namespace ferry
