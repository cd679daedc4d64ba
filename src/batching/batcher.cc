#include "ferry/batcher.h"

#include "base/strings.h"
#include "batching/batch_policy.h"
#include "batching/request_queue.h"

namespace ferry {

namespace {

BatchLimits WithoutDelay(BatchLimits limits) {
  limits.max_delay = Duration::zero();
  return limits;
}

}  // namespace

Batcher::Batcher(BatchLimits batch_limits, QueueLimits queue_limits, Clock& clock, ModelStatistics& statistics)
    : batch_limits_(std::move(batch_limits)),
      hurried_limits_(WithoutDelay(batch_limits_)),
      queue_limits_(queue_limits),
      clock_(clock),
      statistics_(statistics),
      queue_(std::make_unique<RequestQueue>(batch_limits_)) {}

Batcher::~Batcher() = default;

std::optional<Status> Batcher::RefusalFor(const InferRequest& request) const {
  if (closed_) return UnavailableError("the model is being stopped and accepts no more requests");
  if (queue_->requests() >= queue_limits_.max_requests) {
    return UnavailableError(StrCat("Exceeds maximum queue size: ", queue_limits_.max_requests, " requests wait"));
  }
  if (queue_->bytes() + request.input_bytes > queue_limits_.max_bytes) {
    return UnavailableError(StrCat("Exceeds maximum queue size: ", queue_->bytes(), " bytes wait, ",
                                   request.input_bytes, " more would exceed ", queue_limits_.max_bytes));
  }
  return std::nullopt;
}

void Batcher::Submit(std::unique_ptr<InferRequest> request) {
  FERRY_CHECK(request->rows <= batch_limits_.max_rows, "the validator refuses a request larger than a batch");
  request->enqueued = clock_.Now();
  std::optional<Status> refusal;
  {
    MutexLock lock(mutex_);
    refusal = RefusalFor(*request);
    if (!refusal) {
      queue_->Push(std::move(request));
      WakeIfDue();
      return;
    }
  }
  statistics_.RecordFailure(FailureReason::kRejected, request->enqueued - request->arrival);
  request->Complete(*std::move(refusal));
}

Decision Batcher::DecideNow() {
  return Decide(hurried_ ? hurried_limits_ : batch_limits_, queue_->View(), clock_.Now());
}

void Batcher::WakeIfDue() {
  if (waiting_instances_ == 0) return;
  const Decision decision = DecideNow();
  const bool due = decision.action == Decision::Action::kTake;
  if (due || (decision.action == Decision::Action::kWait && decision.until < next_wake_)) due_.NotifyOne();
}

std::optional<Batch> Batcher::NextBatch() {
  MutexLock lock(mutex_);
  for (;;) {
    const Decision decision = DecideNow();
    if (decision.action == Decision::Action::kTake) {
      Batch batch = queue_->Take(decision.bucket, decision.requests);
      // This instance's timer leaves with it. If something still waits, another free instance looks at it.
      next_wake_ = kNever;
      if (queue_->requests() > 0) due_.NotifyOne();
      return batch;
    }
    if (closed_) return std::nullopt;
    next_wake_ = decision.until;
    ++waiting_instances_;
    clock_.WaitUntil(mutex_, due_, decision.until);
    --waiting_instances_;
  }
}

void Batcher::Hurry() {
  MutexLock lock(mutex_);
  hurried_ = true;
  due_.NotifyAll();
}

void Batcher::Close() {
  MutexLock lock(mutex_);
  hurried_ = true;
  closed_ = true;
  due_.NotifyAll();
}

void Batcher::Abort(const Status& reason) {
  std::vector<std::unique_ptr<InferRequest>> dropped;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    dropped = queue_->TakeAll();
    due_.NotifyAll();
  }
  for (auto& request : dropped) {
    statistics_.RecordFailure(FailureReason::kRejected, clock_.Now() - request->arrival);
    request->Complete(reason);
  }
}

size_t Batcher::PendingApprox() const {
  MutexLock lock(mutex_);
  return queue_->requests();
}

}  // namespace ferry
