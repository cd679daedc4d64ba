#include "execution/instance.h"

#include "base/strings.h"
#include "execution/batch_outputs.h"

namespace ferry {

namespace {

// A lone answer up to this size is sent by the instance itself: waking another thread costs more than sending.
constexpr size_t kSmallReply = size_t{16} << 10;

void CompleteAll(const ModelConfig& config, const Batch& batch, std::span<const Tensor> outputs) {
  int64_t row = 0;
  for (const auto& request : batch.requests) {
    InferResponse response = CutOutputs(config, *request, row, outputs);
    row += request->rows;
    request->Complete(std::move(response));
  }
}

size_t TotalBytes(std::span<const Tensor> tensors) {
  size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes.size();
  return bytes;
}

}  // namespace

Instance::Instance(const Parts& parts, std::unique_ptr<ModelInstance> model, std::vector<WarmupRun> warmup)
    : parts_(parts), model_(std::move(model)), buffer_(parts.config) {
  thread_ = std::thread([this, plan = std::move(warmup)]() mutable { Main(std::move(plan)); });
}

Instance::~Instance() { thread_.join(); }

void Instance::Main(std::vector<WarmupRun> warmup) {
  Status warm = WarmUp(std::move(warmup));
  const bool serve = warm.ok();
  warm_.set_value(std::move(warm));
  if (!serve) return;
  while (std::optional<Batch> batch = parts_.batcher.NextBatch()) Execute(*std::move(batch));
}

Status Instance::WarmUp(std::vector<WarmupRun> plan) {
  try {
    model_->BindThread();
    return RunWarmup(parts_.config, std::move(plan), *model_, parts_.clock, parts_.warmup_budget, parts_.stopping);
  } catch (const std::exception& error) {
    return ResourceExhaustedError(StrCat("warm-up failed: ", error.what()));
  }
}

void Instance::Execute(Batch batch) {
  BatchTimes times;
  times.start = parts_.clock.Now();
  const Result<std::span<const TensorView>> inputs = buffer_.Gather(batch);
  if (!inputs.ok()) return Fail(batch, inputs.status());
  for (const auto& request : batch.requests) request->input_owner.reset();  // the rows are in the buffer
  times.input_done = parts_.clock.Now();
  Result<std::vector<Tensor>> outputs = model_->Run(*inputs);
  times.infer_done = parts_.clock.Now();
  const Status status = outputs.ok() ? CheckOutputs(parts_.config, batch.rows, *outputs) : outputs.status();
  if (!status.ok()) return Fail(batch, status);
  times.output_done = parts_.clock.Now();
  RecordSuccess(batch, times);
  Deliver(std::move(batch), std::move(outputs).value());
}

void Instance::Fail(const Batch& batch, const Status& status) {
  for (const auto& request : batch.requests) {
    parts_.statistics.RecordFailure(Failure::kModel, parts_.clock.Now() - request->arrival);
    request->Complete(status);
  }
}

// Before the answers leave, so that whoever has an answer finds it counted.
void Instance::RecordSuccess(const Batch& batch, const BatchTimes& times) {
  std::vector<RequestTimes> requests;
  requests.reserve(batch.requests.size());
  for (const auto& request : batch.requests) requests.push_back({request->arrival, request->enqueued});
  parts_.statistics.RecordBatch(batch.rows, times, requests);
}

void Instance::Deliver(Batch batch, std::vector<Tensor> outputs) {
  if (batch.requests.size() == 1 && TotalBytes(outputs) <= kSmallReply) {
    return CompleteAll(parts_.config, batch, outputs);
  }
  // std::function wants what can be copied, hence the shared pointer. The configuration outlives the task: each
  // request's completion holds its model version.
  struct Delivery {
    Batch batch;
    std::vector<Tensor> outputs;
  };
  auto delivery = std::make_shared<Delivery>(Delivery{std::move(batch), std::move(outputs)});
  parts_.completions.Post(
      [&config = parts_.config, delivery] { CompleteAll(config, delivery->batch, delivery->outputs); });
}

}  // namespace ferry
