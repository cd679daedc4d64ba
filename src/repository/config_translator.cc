#include "repository/config_translator.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "base/strings.h"
#include "ferry/clock.h"
#include "model_config.pb.h"
#include "repository/instance_placement.h"

namespace ferry {

namespace {

constexpr std::string_view kPlatform = "pytorch_libtorch";
constexpr std::string_view kBackend = "pytorch";

DataType FromProto(inference::DataType type) {
  switch (type) {
    case inference::TYPE_BOOL:
      return DataType::kBool;
    case inference::TYPE_UINT8:
      return DataType::kUint8;
    case inference::TYPE_UINT16:
      return DataType::kUint16;
    case inference::TYPE_UINT32:
      return DataType::kUint32;
    case inference::TYPE_UINT64:
      return DataType::kUint64;
    case inference::TYPE_INT8:
      return DataType::kInt8;
    case inference::TYPE_INT16:
      return DataType::kInt16;
    case inference::TYPE_INT32:
      return DataType::kInt32;
    case inference::TYPE_INT64:
      return DataType::kInt64;
    case inference::TYPE_FP16:
      return DataType::kFp16;
    case inference::TYPE_FP32:
      return DataType::kFp32;
    case inference::TYPE_FP64:
      return DataType::kFp64;
    case inference::TYPE_STRING:
      return DataType::kBytes;
    case inference::TYPE_BF16:
      return DataType::kBf16;
    default:
      return DataType::kInvalid;
  }
}

// What this platform cannot serve at all, because leaving it out would give other answers.
Status RefuseUnsupported(const inference::ModelConfig& proto) {
  const auto refuse = [](std::string_view field) {
    return UnimplementedError(StrCat(field, " is not supported, and the model would answer differently without it"));
  };
  if (proto.has_ensemble_scheduling() || proto.platform() == "ensemble") return refuse("ensemble_scheduling");
  if (proto.has_sequence_batching()) return refuse("sequence_batching");
  if (proto.model_transaction_policy().decoupled()) return refuse("model_transaction_policy.decoupled");
  for (const auto& input : proto.input()) {
    if (input.is_shape_tensor()) return refuse(StrCat("input '", input.name(), "': is_shape_tensor"));
    if (input.is_non_linear_format_io()) return refuse(StrCat("input '", input.name(), "': is_non_linear_format_io"));
    if (input.format() != inference::ModelInput::FORMAT_NONE && input.dims_size() != 3) {
      return InvalidArgumentError(
          StrCat("input '", input.name(), "': format needs exactly 3 dims, got ", input.dims_size()));
    }
  }
  for (const auto& output : proto.output()) {
    if (output.is_shape_tensor()) return refuse(StrCat("output '", output.name(), "': is_shape_tensor"));
  }
  return Status();
}

Status CheckPlatform(const inference::ModelConfig& proto) {
  const bool platform_fits = proto.platform().empty() || proto.platform() == kPlatform;
  const bool backend_fits = proto.backend().empty() || proto.backend() == kBackend;
  if (platform_fits && backend_fits) return Status();
  return InvalidArgumentError(StrCat("platform ", Quoted(proto.platform()), ", backend ", Quoted(proto.backend()),
                                     ": allowed are platform '", kPlatform, "' and backend '", kBackend, "'"));
}

Result<std::vector<std::string>> ReadLabels(const std::string& directory, const inference::ModelOutput& output) {
  std::vector<std::string> labels;
  if (output.label_filename().empty()) return labels;
  const std::string where = StrCat("output '", output.name(), "': label_filename ", Quoted(output.label_filename()));
  if (output.label_filename().front() == '/' || output.label_filename().find("..") != std::string::npos) {
    return InvalidArgumentError(StrCat(where, ": must be a path inside the model's folder"));
  }
  std::ifstream file(StrCat(directory, "/", output.label_filename()));
  if (!file) return InvalidArgumentError(StrCat(where, ": cannot be read"));
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(std::move(line));
  }
  return labels;
}

template <typename Proto>
TensorConfig TranslateTensor(const Proto& proto) {
  TensorConfig tensor;
  tensor.name = proto.name();
  tensor.type = FromProto(proto.data_type());
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  if (proto.has_reshape()) tensor.model_dims.emplace(proto.reshape().shape().begin(), proto.reshape().shape().end());
  return tensor;
}

Status TranslateTensors(const inference::ModelConfig& proto, ModelConfig* config) {
  for (const auto& input : proto.input()) {
    config->inputs.push_back(TranslateTensor(input));
    config->inputs.back().optional = input.optional();
    config->inputs.back().ragged = input.allow_ragged_batch();
  }
  for (const auto& output : proto.output()) {
    Result<std::vector<std::string>> labels = ReadLabels(config->directory, output);
    if (!labels.ok()) return labels.status();
    config->outputs.push_back(TranslateTensor(output));
    config->outputs.back().labels = std::move(labels).value();
  }
  return Status();
}

Result<size_t> SourceOf(const std::string& where, const google::protobuf::RepeatedPtrField<std::string>& sources,
                        const ModelConfig& config) {
  if (sources.size() != 1) {
    return InvalidArgumentError(StrCat(where, ": exactly one source_input is needed, got ", sources.size()));
  }
  const int index = config.FindInput(sources[0]);
  if (index < 0) return InvalidArgumentError(StrCat(where, ".source_input ", Quoted(sources[0]), ": no such input"));
  return static_cast<size_t>(index);
}

Status TranslateBatchInputs(const inference::ModelConfig& proto, ModelConfig* config) {
  for (int i = 0; i < proto.batch_input_size(); ++i) {
    const auto& input = proto.batch_input(i);
    const std::string where = StrCat("batch_input[", i, "]");
    if (input.kind() < inference::BatchInput::BATCH_ELEMENT_COUNT ||
        input.kind() > inference::BatchInput::BATCH_ITEM_SHAPE_FLATTEN) {
      return InvalidArgumentError(StrCat(where, ".kind ", static_cast<int>(input.kind()), ": unknown"));
    }
    const Result<size_t> source = SourceOf(where, input.source_input(), *config);
    if (!source.ok()) return source.status();
    if (input.target_name().empty()) return InvalidArgumentError(StrCat(where, ": a target_name is needed"));
    for (const std::string& name : input.target_name()) {
      config->batch_inputs.push_back(
          {static_cast<BatchInput::Kind>(input.kind()), name, FromProto(input.data_type()), *source});
    }
  }
  return Status();
}

Status TranslateBatchOutputs(const inference::ModelConfig& proto, ModelConfig* config) {
  for (int i = 0; i < proto.batch_output_size(); ++i) {
    const auto& output = proto.batch_output(i);
    const std::string where = StrCat("batch_output[", i, "]");
    const Result<size_t> source = SourceOf(where, output.source_input(), *config);
    if (!source.ok()) return source.status();
    for (const std::string& name : output.target_name()) {
      const int index = config->FindOutput(name);
      if (index < 0) return InvalidArgumentError(StrCat(where, ".target_name ", Quoted(name), ": no such output"));
      config->batch_outputs.push_back({static_cast<size_t>(index), *source});
    }
  }
  return Status();
}

VersionPolicy TranslatePolicy(const inference::ModelVersionPolicy& policy) {
  if (policy.has_all()) return AllVersions{};
  if (policy.has_specific()) {
    return SpecificVersions{{policy.specific().versions().begin(), policy.specific().versions().end()}};
  }
  return LatestVersions{std::max(policy.latest().num_versions(), 1u)};
}

QueuePolicy TranslateQueuePolicy(const inference::ModelQueuePolicy& proto) {
  QueuePolicy policy;
  if (proto.timeout_action() == inference::ModelQueuePolicy::DELAY) {
    policy.timeout_action = QueuePolicy::TimeoutAction::kDelay;
  }
  policy.default_timeout = BoundedMicroseconds(proto.default_timeout_microseconds());
  policy.allow_timeout_override = proto.allow_timeout_override();
  policy.max_queue_size = proto.max_queue_size();
  return policy;
}

void TranslateBatching(const inference::ModelConfig& proto, ModelConfig* config) {
  if (!proto.has_dynamic_batching()) return;
  const auto& batching = proto.dynamic_batching();
  DynamicBatching dynamic;
  dynamic.preferred_batch_sizes.assign(batching.preferred_batch_size().begin(), batching.preferred_batch_size().end());
  std::ranges::sort(dynamic.preferred_batch_sizes);
  dynamic.max_queue_delay = BoundedMicroseconds(batching.max_queue_delay_microseconds());
  dynamic.preserve_ordering = batching.preserve_ordering();
  dynamic.priority_levels = batching.priority_levels();
  dynamic.default_priority_level = batching.default_priority_level();
  dynamic.default_queue_policy = TranslateQueuePolicy(batching.default_queue_policy());
  for (const auto& [level, policy] : batching.priority_queue_policy()) {
    dynamic.priority_queue_policies[level] = TranslateQueuePolicy(policy);
  }
  config->dynamic_batching = std::move(dynamic);
}

WarmupInput TranslateWarmupInput(const inference::ModelWarmup::Input& proto) {
  WarmupInput input;
  input.type = FromProto(proto.data_type());
  input.dims.assign(proto.dims().begin(), proto.dims().end());
  if (proto.random_data()) input.fill = WarmupInput::Fill::kRandom;
  if (!proto.input_data_file().empty()) {
    input.fill = WarmupInput::Fill::kFile;
    input.file = proto.input_data_file();
  }
  return input;
}

void TranslateWarmup(const inference::ModelConfig& proto, ModelConfig* config) {
  for (const auto& warmup : proto.model_warmup()) {
    if (warmup.batch_size() == 0) continue;  // Triton skips these
    WarmupSample sample;
    sample.name = warmup.name();
    sample.batch_size = warmup.batch_size();
    sample.count = std::max(warmup.count(), 1u);
    for (const auto& [name, input] : warmup.inputs()) sample.inputs[name] = TranslateWarmupInput(input);
    config->warmup.push_back(std::move(sample));
  }
}

// The configuration that callers see: the user's own, with the defaults that are in force.
std::string SerializeEffective(inference::ModelConfig proto, const ModelConfig& config, int gpus) {
  proto.set_name(config.name);
  proto.set_platform(std::string(kPlatform));
  proto.set_backend(std::string(kBackend));
  proto.set_default_model_filename(config.default_model_filename);
  if (!proto.has_version_policy()) proto.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  ResolveInstanceGroups(gpus, &proto);
  return proto.SerializeAsString();
}

// Paths that Ferry acts on or refuses; what lies below a path counts with it.
const std::set<std::string, std::less<>>& ActedOn() {
  static const std::set<std::string, std::less<>> paths = {"name",
                                                           "platform",
                                                           "backend",
                                                           "version_policy",
                                                           "max_batch_size",
                                                           "input.name",
                                                           "input.data_type",
                                                           "input.dims",
                                                           "input.reshape",
                                                           "input.optional",
                                                           "input.allow_ragged_batch",
                                                           "batch_input",
                                                           "batch_output",
                                                           "output.name",
                                                           "output.data_type",
                                                           "output.dims",
                                                           "output.reshape",
                                                           "output.label_filename",
                                                           "instance_group.name",
                                                           "instance_group.count",
                                                           "instance_group.kind",
                                                           "instance_group.gpus",
                                                           "instance_group.passive",
                                                           "default_model_filename",
                                                           "metric_tags",
                                                           "dynamic_batching",
                                                           "parameters",
                                                           "model_warmup",
                                                           "model_transaction_policy"};
  return paths;
}

void CollectWithoutEffect(const google::protobuf::Message& message, const std::string& prefix,
                          std::vector<std::string>* fields) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &set);
  for (const auto* field : set) {
    const std::string path = prefix + field->name();
    if (ActedOn().contains(path)) continue;
    // A message of which some fields are acted on is looked into, any other is named as a whole.
    const auto below = ActedOn().lower_bound(path + ".");
    const bool partly = below != ActedOn().end() && below->starts_with(path + ".");
    if (!partly) {
      if (std::ranges::find(*fields, path) == fields->end()) fields->push_back(path);
    } else if (field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        CollectWithoutEffect(reflection.GetRepeatedMessage(message, field, i), path + ".", fields);
      }
    } else {
      CollectWithoutEffect(reflection.GetMessage(message, field), path + ".", fields);
    }
  }
}

}  // namespace

Result<ModelConfig> TranslateConfig(const inference::ModelConfig& proto, const std::string& directory,
                                    const std::string& model, int gpus) {
  FERRY_RETURN_IF_ERROR(RefuseUnsupported(proto));
  FERRY_RETURN_IF_ERROR(CheckPlatform(proto));
  if (!proto.name().empty() && proto.name() != model) {
    return InvalidArgumentError(StrCat("name ", Quoted(proto.name()), ": must be the folder's, '", model, "'"));
  }
  ModelConfig config;
  config.name = model;
  config.platform = kPlatform;
  config.directory = directory;
  config.max_batch_size = proto.max_batch_size();
  FERRY_RETURN_IF_ERROR(TranslateTensors(proto, &config));
  FERRY_RETURN_IF_ERROR(TranslateBatchInputs(proto, &config));
  FERRY_RETURN_IF_ERROR(TranslateBatchOutputs(proto, &config));
  config.version_policy = TranslatePolicy(proto.version_policy());
  config.default_model_filename = proto.default_model_filename().empty() ? "model.pt" : proto.default_model_filename();
  Result<std::vector<Placement>> instances = PlaceInstances(proto, gpus);
  if (!instances.ok()) return instances.status();
  config.instances = std::move(instances).value();
  TranslateBatching(proto, &config);
  TranslateWarmup(proto, &config);
  for (const auto& [key, value] : proto.parameters()) config.parameters[key] = value.string_value();
  config.metric_tags.insert(proto.metric_tags().begin(), proto.metric_tags().end());
  config.serialized = SerializeEffective(proto, config, gpus);
  return config;
}

std::vector<std::string> FieldsWithoutEffect(const inference::ModelConfig& proto) {
  std::vector<std::string> fields;
  CollectWithoutEffect(proto, "", &fields);
  return fields;
}

}  // namespace ferry
