#include "loadgen/load_worker.h"

#include <sys/prctl.h>

#include <vector>

#include "ferry/check.h"

namespace ferry {

LoadWorker::~LoadWorker() {
  if (answering_.joinable()) {
    Stop();
    Wait();
  }
}

void LoadWorker::Start(const WorkerLoad& load) {
  FERRY_CHECK(!answering_.joinable(), "the load before was waited for");
  load_ = load;
  draw_.emplace(*load.mix, load.seed);
  offered_ = 0;
  give_up_ = load.window.end + load.patience;
  {
    MutexLock lock(mutex_);
    stopping_ = false;
    recorder_.emplace(load.window, ClassNames(*load.mix));
    recent_ = LatencyHistogram();
  }
  sending_ = load.schedule != nullptr;
  if (sending_) pacing_ = std::thread([this] { Pace(); });
  answering_ = std::thread([this] { Answer(); });
}

void LoadWorker::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  give_up_ = TimePoint::min();
  caller_->Wake();
}

void LoadWorker::Wait() {
  if (pacing_.joinable()) pacing_.join();
  if (answering_.joinable()) answering_.join();
}

LoadWorker::Progress LoadWorker::TakeProgress() {
  MutexLock lock(mutex_);
  const LoadRecorder::Totals totals = recorder_->totals();
  return {offered_, totals.ok, totals.failed, caller_->under_way(), std::exchange(recent_, LatencyHistogram())};
}

void LoadWorker::SendOne(TimePoint due, std::optional<size_t> class_index) {
  offered_.fetch_add(1, std::memory_order_relaxed);
  const size_t index = draw_->Next(class_index);
  const LoadRequest& request = load_.mix->requests[index];
  if (caller_->under_way() >= load_.most_under_way) {
    MutexLock lock(mutex_);
    recorder_->Dropped(due, request.class_index);
    return;
  }
  const LoadClass& kind = load_.mix->classes[request.class_index];
  const Duration cancel_after = draw_->Cancels(kind) ? kind.cancel_after : Duration::zero();
  caller_->Start({request.message, due, index, kind.deadline, cancel_after});
}

// The thread of the answers, and in a closed loop of all.
void LoadWorker::Answer() {
  for (size_t i = 0; i < load_.concurrency; ++i) SendOne(clock_.Now(), std::nullopt);
  bool given_up = false;
  while (sending_ || caller_->under_way() > 0) {
    const TimePoint give_up = give_up_;
    if (!given_up && clock_.Now() >= give_up) {
      caller_->CancelAll();
      given_up = !sending_;  // else one more may come
    }
    caller_->Next(given_up ? kNever : give_up, [this](const EndedRequest& ended) { Ended(ended); });
  }
}

void LoadWorker::Ended(const EndedRequest& ended) {
  const bool ok = ended.status.ok();
  const std::string fault = load_.check && ok ? load_.check(ended.request, ended.answer) : "";
  const std::string message = ended.status.error_message();
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    stopping = stopping_;
    const CallEnd end{ended.status.error_code(), message, fault, ended.given_up};
    recorder_->Done(ended.times, end, load_.mix->requests[ended.request].class_index);
    if (ok) recent_.Record(ended.times.done - ended.times.due);
    if (load_.wait_when_full) changed_.NotifyOne();
  }
  const TimePoint now = clock_.Now();
  if (load_.concurrency > 0 && !stopping && now < load_.window.end) SendOne(now, std::nullopt);
}

bool LoadWorker::WaitUntilDue(TimePoint due) {
  MutexLock lock(mutex_);
  while (!stopping_ && clock_.Now() < due) clock_.WaitUntil(mutex_, changed_, due);
  if (!load_.wait_when_full) return !stopping_;
  while (!stopping_ && caller_->under_way() >= load_.most_under_way && clock_.Now() < give_up_.load()) {
    clock_.WaitUntil(mutex_, changed_, give_up_);
  }
  return !stopping_;
}

// The thread that sends what is due.
void LoadWorker::Pace() {
  // Timers of this thread may not be put off to coincide with others.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  while (const std::optional<DueRequest> next = load_.schedule()) {
    const TimePoint due = load_.start + next->at;
    if (due >= load_.window.end || !WaitUntilDue(due)) break;
    SendOne(due, next->class_index);
  }
  sending_ = false;
  caller_->Wake();
}

}  // namespace ferry
