#include "ferry/batcher.h"

#include "base/strings.h"
#include "batching/batch_policy.h"
#include "batching/expiry_timer.h"
#include "batching/request_queue.h"
#include "batching/server_budget.h"

namespace ferry {

namespace {

// A client gives a request up at its deadline too, and sooner than the timer here by the time that the request took to
// arrive: what it gives up this short before its deadline is a passed deadline.
constexpr Duration kDeadlineSlack = std::chrono::milliseconds(20);

Departure Refuse(Failure failure, Status status) { return {nullptr, failure, std::move(status)}; }

}  // namespace

Batcher::Batcher(BatchLimits batch_limits, QueueLimits queue_limits, Surroundings surroundings)
    : max_rows_(batch_limits.max_rows),
      limits_(std::move(queue_limits)),
      surroundings_(surroundings),
      in_timer_(surroundings.timer != nullptr),
      queue_(std::make_unique<RequestQueue>(std::move(batch_limits), limits_)) {}

Batcher::~Batcher() { Retire(); }

void Batcher::Retire() {
  Abort(UnavailableError("the model is being stopped"));
  if (std::exchange(in_timer_, false)) surroundings_.timer->Forget(*this);
}

// Puts the request into the queue, or says why not.
std::optional<Departure> Batcher::Accept(std::unique_ptr<InferRequest>& request) {
  if (closed_)
    return Refuse(Failure::kStopping, UnavailableError("the model is being stopped and accepts no more requests"));
  const uint64_t level = queue_->LevelOf(request->priority);
  const size_t max_requests = queue_->PolicyOf(level).max_requests;
  if (queue_->RequestsAt(level) >= max_requests) {
    return Refuse(Failure::kQueueFull,
                  UnavailableError(StrCat("Exceeds maximum queue size: ", max_requests, " requests wait",
                                          limits_.levels > 1 ? StrCat(" at priority level ", level) : "")));
  }
  const int64_t bytes = request->input_bytes;
  if (queue_->bytes() + bytes > limits_.max_bytes) {
    return Refuse(Failure::kQueueBytes,
                  UnavailableError(StrCat("Exceeds maximum queue size: ", queue_->bytes(), " bytes wait, ", bytes,
                                          " more would exceed ", limits_.max_bytes)));
  }
  if (surroundings_.budget != nullptr && !surroundings_.budget->TryTake(bytes)) {
    const ServerBudget::Limits& limits = surroundings_.budget->limits();
    return Refuse(Failure::kServerFull,
                  UnavailableError(StrCat("Exceeds maximum queue size of the server: one more request of ", bytes,
                                          " bytes would exceed ", limits.max_requests, " requests or ",
                                          limits.max_bytes, " bytes")));
  }
  queue_->Push(std::move(request));
  return std::nullopt;
}

void Batcher::Submit(std::unique_ptr<InferRequest> request) {
  FERRY_CHECK(request->rows <= max_rows_, "the validator refuses a request larger than a batch");
  request->enqueued = surroundings_.clock.Now();
  std::optional<Departure> refusal;
  {
    MutexLock lock(mutex_);
    refusal = Accept(request);
    if (!refusal) {
      ArmTimer();
      WakeIfDue();
      return;
    }
  }
  surroundings_.statistics.RecordFailure(refusal->failure, request->enqueued - request->arrival);
  request->Complete(std::move(refusal->status));
}

void Batcher::ArmTimer() {
  const TimePoint next = queue_->NextExpiry();
  if (surroundings_.timer == nullptr || next >= armed_for_) return;
  armed_for_ = next;
  surroundings_.timer->Arm(*this, next);
}

Decision Batcher::DecideNow() {
  const TimePoint now = surroundings_.clock.Now();
  return Decide(queue_->batch_limits(), queue_->Next(now), now);
}

void Batcher::WakeIfDue() {
  if (waiting_instances_ == 0) return;
  const Decision decision = DecideNow();
  const bool due = decision.action == Decision::Action::kTake;
  if (due || (decision.action == Decision::Action::kWait && decision.until < next_wake_)) due_.NotifyOne();
}

std::optional<Batch> Batcher::NextBatch() {
  for (;;) {
    std::vector<Departure> departures;
    {
      MutexLock lock(mutex_);
      departures = queue_->Expire(surroundings_.clock.Now());
      if (!departures.empty()) {
        // Completing them takes a moment, in which another instance can look at what is due.
        next_wake_ = kNever;
        WakeIfDue();
      } else {
        const Decision decision = DecideNow();
        if (decision.action == Decision::Action::kTake) return TakeBatch(decision);
        if (closed_) return std::nullopt;
        next_wake_ = decision.until;
        ++waiting_instances_;
        surroundings_.clock.WaitUntil(mutex_, due_, decision.until);
        --waiting_instances_;
      }
    }
    Depart(std::move(departures));
  }
}

std::optional<Batch> Batcher::TakeComplete() {
  MutexLock lock(mutex_);
  // What has expired is left to the timer and to NextBatch(), but must not run.
  if (queue_->NextExpiry() <= surroundings_.clock.Now()) return std::nullopt;
  const Decision decision = DecideNow();
  const bool complete = decision.reason == DispatchReason::kFull || decision.reason == DispatchReason::kPreferred ||
                        decision.reason == DispatchReason::kCannotGrow;
  if (decision.action != Decision::Action::kTake || !complete) return std::nullopt;
  return TakeBatch(decision);
}

Batch Batcher::TakeBatch(const Decision& decision) {
  const int64_t bytes = queue_->bytes();
  Batch batch = queue_->Take(decision.requests);
  if (surroundings_.budget != nullptr) surroundings_.budget->GiveBack(batch.requests.size(), bytes - queue_->bytes());
  surroundings_.statistics.RecordDispatch(decision.reason);
  // This instance's timer leaves with it. If something still waits, another free instance looks at it.
  next_wake_ = kNever;
  if (queue_->requests() > 0) due_.NotifyOne();
  return batch;
}

// Completes what left the queue without an answer.
void Batcher::Depart(std::vector<Departure> departures) {
  if (departures.empty()) return;
  const TimePoint now = surroundings_.clock.Now();
  int64_t bytes = 0;
  for (const Departure& departure : departures) bytes += departure.request->input_bytes;
  if (surroundings_.budget != nullptr) surroundings_.budget->GiveBack(departures.size(), bytes);
  for (Departure& departure : departures) {
    surroundings_.statistics.RecordFailure(departure.failure, now - departure.request->arrival);
    departure.request->Complete(std::move(departure.status));
  }
}

void Batcher::Cancel(uint64_t ticket) {
  std::vector<Departure> departures;
  {
    MutexLock lock(mutex_);
    if (std::unique_ptr<InferRequest> request = queue_->Remove(ticket)) {
      const bool late = request->deadline - kDeadlineSlack <= surroundings_.clock.Now();
      departures.push_back(
          late ? DepartAtDeadline(std::move(request))
               : Departure{std::move(request), Failure::kCancelled, CancelledError("the client gave the request up")});
    }
    // What is left may be due without it, or at another time.
    WakeIfDue();
  }
  Depart(std::move(departures));
}

TimePoint Batcher::Expire() {
  std::vector<Departure> departures;
  TimePoint next;
  {
    MutexLock lock(mutex_);
    departures = queue_->Expire(surroundings_.clock.Now());
    next = armed_for_ = queue_->NextExpiry();
    WakeIfDue();
  }
  Depart(std::move(departures));
  return next;
}

void Batcher::Hurry() {
  MutexLock lock(mutex_);
  queue_->Hurry();
  due_.NotifyAll();
}

void Batcher::Close() {
  MutexLock lock(mutex_);
  queue_->Hurry();
  closed_ = true;
  due_.NotifyAll();
}

void Batcher::Abort(const Status& reason) {
  std::vector<Departure> departures;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    for (auto& request : queue_->TakeAll()) departures.push_back({std::move(request), Failure::kStopping, reason});
    due_.NotifyAll();
  }
  Depart(std::move(departures));
}

size_t Batcher::PendingApprox() const {
  MutexLock lock(mutex_);
  return queue_->requests();
}

std::optional<TimePoint> Batcher::OldestApprox() const {
  MutexLock lock(mutex_);
  return queue_->Oldest();
}

}  // namespace ferry
