#include "loadgen/model_description.h"

#include <algorithm>

#include "base/strings.h"
#include "grpc_service.pb.h"

namespace ferry {

namespace {

using Metadata = inference::ModelMetadataResponse;

const TensorDescription* Find(const std::vector<TensorDescription>& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &TensorDescription::name);
  return found == tensors.end() ? nullptr : &*found;
}

bool StartsWithAnyExtent(const Metadata::TensorMetadata& tensor) {
  return tensor.shape_size() > 0 && tensor.shape(0) == -1;
}

// Without a configuration.
bool LooksBatched(const Metadata& metadata) {
  return metadata.inputs_size() > 0 && std::ranges::all_of(metadata.inputs(), StartsWithAnyExtent);
}

TensorDescription Describe(const Metadata::TensorMetadata& tensor, bool batched) {
  TensorDescription described{tensor.name(), DataTypeFromName(tensor.datatype()), {}, false};
  described.shape.assign(tensor.shape().begin(), tensor.shape().end());
  if (batched && StartsWithAnyExtent(tensor)) described.shape.erase(described.shape.begin());
  return described;
}

// The configuration's dims are of one row by definition, where a server's metadata may or may not have the batch in front.
template <typename Tensors>
void TakeDims(const Tensors& configured, std::vector<TensorDescription>& tensors) {
  for (const auto& tensor : configured) {
    const auto found = std::ranges::find(tensors, tensor.name(), &TensorDescription::name);
    if (found != tensors.end()) found->shape.assign(tensor.dims().begin(), tensor.dims().end());
  }
}

int64_t CountInstances(const inference::ModelConfig& config) {
  int64_t instances = 0;
  for (const auto& group : config.instance_group()) {
    if (group.passive()) continue;
    instances += int64_t{std::max(group.count(), 1)} * std::max(group.gpus_size(), 1);
  }
  return std::max<int64_t>(instances, 1);
}

void TakeConfig(const inference::ModelConfig& config, ModelDescription& model) {
  TakeDims(config.input(), model.inputs);
  TakeDims(config.output(), model.outputs);
  for (const auto& input : config.input()) {
    const auto found = std::ranges::find(model.inputs, input.name(), &TensorDescription::name);
    if (found != model.inputs.end()) found->optional = input.optional();
  }
  model.max_batch_size = std::max(config.max_batch_size(), 0);
  model.instances = CountInstances(config);
  model.dynamic_batching = config.has_dynamic_batching();
  model.sequences = config.has_sequence_batching();
  model.decoupled = config.model_transaction_policy().decoupled();
}

}  // namespace

const TensorDescription* ModelDescription::FindInput(std::string_view input) const { return Find(inputs, input); }

const TensorDescription* ModelDescription::FindOutput(std::string_view output) const { return Find(outputs, output); }

Result<ModelDescription> DescribeModel(const Metadata& metadata, const inference::ModelConfig* config,
                                       std::string_view version) {
  ModelDescription model;
  model.name = metadata.name();
  model.version = version;
  model.versions.assign(metadata.versions().begin(), metadata.versions().end());
  model.batched = config == nullptr ? LooksBatched(metadata) : config->max_batch_size() > 0;
  for (const auto& input : metadata.inputs()) {
    model.inputs.push_back(Describe(input, model.batched));
    if (model.inputs.back().type != DataType::kInvalid) continue;
    return Status(StatusCode::kFailedPrecondition,
                  StrCat("model ", Quoted(model.name), ": input ", Quoted(input.name()), " has the datatype ",
                         Quoted(input.datatype()), ", which is none of the protocol's"));
  }
  if (model.inputs.empty()) {
    return Status(StatusCode::kFailedPrecondition,
                  StrCat("model ", Quoted(model.name), ": the server's metadata names no inputs"));
  }
  for (const auto& output : metadata.outputs()) model.outputs.push_back(Describe(output, model.batched));
  if (config != nullptr) TakeConfig(*config, model);
  return model;
}

}  // namespace ferry
