#include "repository/config_validator.h"

#include <algorithm>
#include <set>

#include "base/strings.h"

namespace ferry {

namespace {

// The element counts between variable extents, which a reshape must keep: [2,3,-1,4] gives {6, 4}.
std::optional<std::vector<int64_t>> Segments(const Shape& dims) {
  std::vector<int64_t> segments = {1};
  for (const int64_t dim : dims) {
    if (dim == -1) {
      segments.push_back(1);
    } else if (__builtin_mul_overflow(segments.back(), dim, &segments.back())) {
      return std::nullopt;
    }
  }
  return segments;
}

Status ValidateDims(std::string_view field, const Shape& dims) {
  for (const int64_t dim : dims) {
    if (dim < 1 && dim != -1) {
      return InvalidArgumentError(
          StrCat(field, " ", ShapeToString(dims), ": each extent must be positive, or -1 for any"));
    }
  }
  if (!Segments(dims)) return InvalidArgumentError(StrCat(field, " ", ShapeToString(dims), ": too many elements"));
  return Status();
}

Status ValidateReshape(const TensorConfig& tensor, bool batches) {
  if (!tensor.model_dims) return Status();
  FERRY_RETURN_IF_ERROR(ValidateDims("reshape", *tensor.model_dims));
  if (tensor.model_dims->empty() && !batches) {
    return InvalidArgumentError("reshape []: only allowed with max_batch_size > 0");
  }
  if (Segments(tensor.dims) != Segments(*tensor.model_dims)) {
    return InvalidArgumentError(StrCat("reshape ", ShapeToString(*tensor.model_dims),
                                       " does not hold the elements of dims ", ShapeToString(tensor.dims)));
  }
  return Status();
}

// A full batch must fit into a buffer that a server can really have; -1 counts as 1.
Status ValidateSize(DataType type, Shape shape, int64_t rows) {
  constexpr int64_t kMostBytes = int64_t{4} << 30;
  std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{1});
  shape.insert(shape.begin(), rows);
  const std::optional<int64_t> bytes = ByteSize(type, shape);
  if (bytes && *bytes <= kMostBytes) return Status();
  return InvalidArgumentError(StrCat("a full batch of shape ", ShapeToString(shape), " has ",
                                     bytes ? std::to_string(*bytes) : "more than 2^63", " bytes; at most ", kMostBytes,
                                     " are allowed"));
}

Status ValidateTensor(const TensorConfig& tensor, const ModelConfig& config) {
  if (tensor.type == DataType::kInvalid) return InvalidArgumentError("data_type is missing");
  if (tensor.type == DataType::kBytes) return InvalidArgumentError("data_type TYPE_STRING is not supported");
  if (tensor.dims.empty()) return InvalidArgumentError("dims is missing");
  FERRY_RETURN_IF_ERROR(ValidateDims("dims", tensor.dims));
  FERRY_RETURN_IF_ERROR(ValidateSize(tensor.type, tensor.dims, config.max_rows()));
  return ValidateReshape(tensor, config.batches());
}

Status ValidateTensors(std::string_view kind, const std::vector<TensorConfig>& tensors, const ModelConfig& config) {
  if (tensors.empty()) return InvalidArgumentError(StrCat("at least one ", kind, " is needed"));
  std::set<std::string_view> names;
  for (const TensorConfig& tensor : tensors) {
    if (tensor.name.empty()) return InvalidArgumentError(StrCat(kind, ": name is missing"));
    const std::string where = StrCat(kind, " ", Quoted(tensor.name), ": ");
    if (!names.insert(tensor.name).second) return InvalidArgumentError(where + "given twice");
    FERRY_RETURN_IF_ERROR(ValidateTensor(tensor, config).WithPrefix(where));
  }
  return Status();
}

Status ValidatePriorities(const DynamicBatching& batching) {
  const uint64_t levels = batching.priority_levels;
  const uint64_t standard = batching.default_priority_level;
  if (levels > 0 && (standard < 1 || standard > levels)) {
    return InvalidArgumentError(
        StrCat("dynamic_batching.default_priority_level ", standard, ": must be from 1 to priority_levels ", levels));
  }
  for (const auto& [level, policy] : batching.priority_queue_policies) {
    if (level < 1 || level > levels) {
      return InvalidArgumentError(
          StrCat("dynamic_batching.priority_queue_policy ", level, ": must be from 1 to priority_levels ", levels));
    }
  }
  if (!batching.preserve_ordering) return Status();
  const auto delays = [](const QueuePolicy& policy) {
    return policy.timeout_action == QueuePolicy::TimeoutAction::kDelay;
  };
  const bool any_delays =
      delays(batching.default_queue_policy) ||
      std::ranges::any_of(batching.priority_queue_policies, [&](const auto& p) { return delays(p.second); });
  if (levels > 1 || any_delays) {
    return InvalidArgumentError(
        "dynamic_batching.preserve_ordering: not with several priority_levels nor with timeout_action DELAY, which "
        "change the order");
  }
  return Status();
}

Status ValidateBatching(const ModelConfig& config) {
  if (config.max_batch_size < 0) {
    return InvalidArgumentError(StrCat("max_batch_size ", config.max_batch_size, ": must be 0 or more"));
  }
  if (!config.dynamic_batching) return Status();
  for (const int64_t size : config.dynamic_batching->preferred_batch_sizes) {
    if (size < 1 || size > config.max_batch_size) {
      return InvalidArgumentError(StrCat("dynamic_batching.preferred_batch_size ", size,
                                         ": must be from 1 to max_batch_size ", config.max_batch_size));
    }
  }
  return ValidatePriorities(*config.dynamic_batching);
}

Status ValidateRagged(const ModelConfig& config) {
  std::set<std::string> names;
  for (const TensorConfig& input : config.inputs) {
    names.insert(input.name);
    if (!input.ragged) continue;
    const std::string where = StrCat("input ", Quoted(input.name), ": allow_ragged_batch: ");
    if (!config.batches()) return InvalidArgumentError(where + "only with max_batch_size > 0");
    if (input.model_dims) return InvalidArgumentError(where + "not together with reshape");
  }
  if (!config.batches() && !(config.batch_inputs.empty() && config.batch_outputs.empty())) {
    return InvalidArgumentError("batch_input and batch_output: only with max_batch_size > 0");
  }
  for (const BatchInput& input : config.batch_inputs) {
    const std::string where = StrCat("batch_input ", Quoted(input.name), ": ");
    if (!names.insert(input.name).second) return InvalidArgumentError(where + "there is another input of that name");
    if (input.type != DataType::kInt32 && input.type != DataType::kInt64 && input.type != DataType::kFp32) {
      return InvalidArgumentError(where + "data_type must be TYPE_INT32, TYPE_INT64 or TYPE_FP32");
    }
    if (config.inputs[input.source].optional) return InvalidArgumentError(where + "its source_input is optional");
  }
  std::set<size_t> targets;
  for (const BatchOutput& output : config.batch_outputs) {
    const TensorConfig& target = config.outputs[output.output];
    const std::string where = StrCat("batch_output ", Quoted(target.name), ": ");
    if (config.inputs[output.source].optional) return InvalidArgumentError(where + "its source_input is optional");
    if (target.model_dims) return InvalidArgumentError(where + "not together with reshape");
    if (!targets.insert(output.output).second) return InvalidArgumentError(where + "given twice");
  }
  return Status();
}

bool StaysInside(std::string_view path) { return !path.starts_with('/') && path.find("..") == std::string_view::npos; }

Status ValidateWarmupInput(const TensorConfig& input, const WarmupInput& sample, int64_t rows) {
  if (sample.type != input.type) {
    return InvalidArgumentError(
        StrCat("data_type ", DataTypeName(sample.type), ": the input's is ", DataTypeName(input.type)));
  }
  if (!ShapeMatches(input.dims, sample.dims) || !ElementCount(sample.dims)) {
    return InvalidArgumentError(
        StrCat("dims ", ShapeToString(sample.dims), ": the input's are ", ShapeToString(input.dims)));
  }
  FERRY_RETURN_IF_ERROR(ValidateSize(sample.type, sample.dims, rows));
  if (!StaysInside(sample.file)) {
    return InvalidArgumentError(StrCat("input_data_file ", Quoted(sample.file), ": must lie in the folder 'warmup'"));
  }
  return Status();
}

Status ValidateSample(const ModelConfig& config, const WarmupSample& sample) {
  if (sample.batch_size > config.max_rows()) {
    return InvalidArgumentError(StrCat("batch_size ", sample.batch_size, ": must not exceed ", config.max_rows()));
  }
  for (const auto& [name, input] : sample.inputs) {
    const int index = config.FindInput(name);
    if (index < 0) return InvalidArgumentError(StrCat("input ", Quoted(name), ": the model has none of that name"));
    FERRY_RETURN_IF_ERROR(ValidateWarmupInput(config.inputs[static_cast<size_t>(index)], input, config.max_rows())
                              .WithPrefix(StrCat("input ", Quoted(name), ": ")));
  }
  for (const TensorConfig& input : config.inputs) {
    if (!input.optional && !sample.inputs.contains(input.name))
      return InvalidArgumentError(StrCat("input ", Quoted(input.name), " is missing"));
  }
  return Status();
}

}  // namespace

Status ValidateConfig(const ModelConfig& config) {
  FERRY_RETURN_IF_ERROR(ValidateBatching(config));
  FERRY_RETURN_IF_ERROR(ValidateTensors("input", config.inputs, config));
  FERRY_RETURN_IF_ERROR(ValidateTensors("output", config.outputs, config));
  FERRY_RETURN_IF_ERROR(ValidateRagged(config));
  if (!StaysInside(config.default_model_filename)) {
    return InvalidArgumentError(
        StrCat("default_model_filename ", Quoted(config.default_model_filename), ": must lie in the version's folder"));
  }
  for (const WarmupSample& sample : config.warmup) {
    FERRY_RETURN_IF_ERROR(
        ValidateSample(config, sample).WithPrefix(StrCat("model_warmup ", Quoted(sample.name), ": ")));
  }
  return Status();
}

}  // namespace ferry
