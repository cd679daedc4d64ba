#include "frontend/grpc/control_messages.h"

#include "base/strings.h"

namespace ferry {

namespace {

using TensorMetadata = inference::ModelMetadataResponse::TensorMetadata;

void Fill(const TensorConfig& tensor, bool batches, TensorMetadata* metadata) {
  metadata->set_name(tensor.name);
  metadata->set_datatype(std::string(DataTypeName(tensor.type)));
  if (batches) metadata->add_shape(-1);
  for (const int64_t dim : tensor.dims) metadata->add_shape(dim);
}

void Fill(const DurationCount& from, inference::StatisticDuration* to) {
  to->set_count(from.count);
  to->set_ns(static_cast<uint64_t>(from.total.count()));
}

}  // namespace

void FillMetadata(const ModelConfig& config, const std::vector<int64_t>& versions,
                  inference::ModelMetadataResponse* response) {
  response->set_name(config.name);
  for (const int64_t version : versions) response->add_versions(std::to_string(version));
  response->set_platform(config.platform);
  for (const TensorConfig& input : config.inputs) Fill(input, config.batches(), response->add_inputs());
  for (const TensorConfig& output : config.outputs) Fill(output, config.batches(), response->add_outputs());
}

void FillStatistics(const ModelVersion& model, inference::ModelStatistics* statistics) {
  const StatisticsSnapshot counts = model.statistics().Snapshot();
  statistics->set_name(model.config().name);
  statistics->set_version(std::to_string(model.version()));
  const auto since_epoch = counts.last_inference.time_since_epoch();
  statistics->set_last_inference(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()));
  statistics->set_inference_count(counts.inference_count);
  statistics->set_execution_count(counts.execution_count);
  auto& infer = *statistics->mutable_inference_stats();
  Fill(counts.success, infer.mutable_success());
  Fill(counts.fail, infer.mutable_fail());
  Fill(counts.queue, infer.mutable_queue());
  Fill(counts.compute_input, infer.mutable_compute_input());
  Fill(counts.compute_infer, infer.mutable_compute_infer());
  Fill(counts.compute_output, infer.mutable_compute_output());
  infer.mutable_cache_hit();
  infer.mutable_cache_miss();
  for (const auto& [rows, batch] : counts.batches) {
    auto& size = *statistics->add_batch_stats();
    size.set_batch_size(static_cast<uint64_t>(rows));
    Fill(batch.compute_input, size.mutable_compute_input());
    Fill(batch.compute_infer, size.mutable_compute_infer());
    Fill(batch.compute_output, size.mutable_compute_output());
  }
}

void FillIndex(const std::vector<IndexEntry>& index, inference::RepositoryIndexResponse* response) {
  for (const IndexEntry& entry : index) {
    auto& model = *response->add_models();
    // A folder may have any name, a reason may quote anything; a protobuf string must be UTF-8.
    constexpr size_t kLongest = 4096;
    model.set_name(Printable(entry.name, kLongest));
    model.set_version(entry.version);
    model.set_state(std::string(ModelStateName(entry.state)));
    model.set_reason(Printable(entry.reason, kLongest));
  }
}

}  // namespace ferry
