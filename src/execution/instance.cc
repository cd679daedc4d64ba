#include "execution/instance.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/strings.h"
#include "execution/batch_outputs.h"

namespace ferry {

namespace {

// A lone answer up to this size is sent by the instance itself: waking another thread costs more than sending.
constexpr size_t kSmallReply = size_t{16} << 10;

// For finding out which batch sizes to round up; more would make a load feel slow.
constexpr Duration kMeasureTime = std::chrono::seconds(5);

// What is cut back from padding needs memory of its own.
Result<InferResponse> CutFor(const ModelConfig& config, const InferRequest& request, const BatchPosition& position,
                             std::span<const Tensor> outputs) {
  try {
    return CutOutputs(config, request, position, outputs);
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError("no memory for the answer");
  }
}

void CompleteAll(const ModelConfig& config, const Batch& batch, std::span<const Tensor> outputs) {
  BatchPosition position;
  if (!config.batch_outputs.empty()) position.elements.resize(config.inputs.size());
  for (const auto& request : batch.requests) {
    Result<InferResponse> response = CutFor(config, *request, position, outputs);
    position.Advance(*request);
    request->Complete(std::move(response));
  }
}

// Parts of at most `requests` requests each, in order.
std::vector<Batch> Split(Batch batch, size_t requests) {
  std::vector<Batch> parts;
  for (auto& request : batch.requests) {
    if (parts.empty() || parts.back().requests.size() == requests) parts.emplace_back();
    parts.back().rows += request->rows;
    parts.back().requests.push_back(std::move(request));
  }
  return parts;
}

size_t TotalBytes(std::span<const Tensor> tensors) {
  size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes.size();
  return bytes;
}

}  // namespace

Instance::Instance(const Parts& parts, std::unique_ptr<ModelInstance> model, Preparation preparation)
    : parts_(parts), model_(std::move(model)), runner_(parts.config, parts.device, *model_, parts.clock) {
  thread_ = std::thread([this, preparation = std::move(preparation)] { Main(preparation); });
}

Instance::~Instance() { thread_.join(); }

void Instance::Main(const Preparation& preparation) {
  Result<ExecutionSizes> sizes = WarmUp(preparation);
  const bool serve = sizes.ok();
  if (serve) sizes_ = *sizes;
  warm_.set_value(std::move(sizes));
  if (!serve) return;
  Serve();
}

void Instance::Serve() {
  std::optional<Started> running;
  for (;;) {
    std::optional<Batch> batch = running ? parts_.batcher.TakeComplete() : parts_.batcher.NextBatch();
    if (!batch && !running) return;
    std::optional<Started> started;
    if (batch) started = Begin(*std::move(batch));
    if (running) Finish(*std::exchange(running, std::nullopt));
    if (!started) continue;
    if (runner_.Overlaps()) {
      running = std::move(started);
    } else {
      Finish(*std::move(started));
    }
  }
}

Result<ExecutionSizes> Instance::WarmUp(const Preparation& preparation) {
  try {
    const TimePoint budget_end = parts_.clock.Now() + parts_.warmup_budget;
    const WarmupTarget target{parts_.config, runner_, parts_.clock, parts_.stopping};
    FERRY_RETURN_IF_ERROR(runner_.Prepare());
    FERRY_RETURN_IF_ERROR(RunWarmup(target, preparation.warmup, parts_.warmup_budget));
    // A failure of made-up values does not fail the load; that they have killed the device does.
    FERRY_RETURN_IF_ERROR(parts_.device.CheckHealth());
    if (preparation.sizes) return *preparation.sizes;
    return MeasureSizes(target, preparation.warmup.back(), std::min(budget_end, parts_.clock.Now() + kMeasureTime));
  } catch (const std::exception& error) {
    return ResourceExhaustedError(StrCat("warm-up failed: ", error.what()));
  }
}

Instance::Started Instance::Begin(Batch batch) {
  BatchRun run = runner_.Begin(batch, sizes_.For(batch.rows));
  return {std::move(batch), std::move(run)};
}

void Instance::Finish(Started started) {
  auto& [batch, run] = started;
  runner_.End(run);
  if (run.status.ok()) return Succeed(std::move(batch), std::move(run));
  if (run.status.code() == StatusCode::kUnavailable) parts_.device_lost(run.status);
  if (batch.requests.size() == 1 || !run.divisible) return Fail(batch, Failure::kModel, run.status);
  Retry(std::move(batch), run.status);
}

void Instance::Retry(Batch batch, const Status& failure) {
  parts_.statistics.RecordRetry();
  const size_t requests = batch.requests.size();
  const bool out_of_memory = failure.code() == StatusCode::kResourceExhausted;
  for (Batch& part : Split(std::move(batch), out_of_memory ? (requests + 1) / 2 : 1)) {
    // The run that failed may have taken long; what nobody waits for any more is not run again.
    if (part.requests.size() == 1 && part.requests.front()->deadline <= parts_.clock.Now()) {
      Fail(part, Failure::kDeadline, Status(StatusCode::kDeadlineExceeded, "the deadline passed in a run that failed"));
    } else {
      Finish(Begin(std::move(part)));
    }
  }
}

// Counted before the answers leave, so that whoever has an answer finds it counted.
void Instance::Succeed(Batch batch, BatchRun run) {
  std::vector<RequestTimes> requests;
  requests.reserve(batch.requests.size());
  for (const auto& request : batch.requests) {
    requests.push_back({request->arrival, request->enqueued});
    request->input_owner.reset();  // a model that failed would have been given the inputs once more
  }
  parts_.statistics.RecordBatch(run.volume, run.times, requests);
  Deliver(std::move(batch), std::move(run.outputs));
}

void Instance::Fail(const Batch& batch, Failure failure, const Status& status) {
  for (const auto& request : batch.requests) {
    parts_.statistics.RecordFailure(failure, parts_.clock.Now() - request->arrival);
    request->Complete(status);
  }
}

void Instance::Deliver(Batch batch, std::vector<Tensor> outputs) {
  if (parts_.outputs != nullptr) parts_.outputs->Track(&outputs);
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
