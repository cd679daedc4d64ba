#include "loadgen/load_worker.h"

#include <sys/prctl.h>

#include <algorithm>
#include <numeric>

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
  random_.seed(load.seed);
  cumulative_.resize(load.mix->weights.size());
  std::partial_sum(load.mix->weights.begin(), load.mix->weights.end(), cumulative_.begin());
  offered_ = 0;
  give_up_ = load.window.end + load.patience;
  {
    MutexLock lock(mutex_);
    stopping_ = false;
    recorder_.emplace(load.window, load.mix->classes);
    recent_ = LatencyHistogram();
  }
  sending_ = load.arrivals != nullptr;
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
  caller_.Wake();
}

void LoadWorker::Wait() {
  if (pacing_.joinable()) pacing_.join();
  if (answering_.joinable()) answering_.join();
}

LoadWorker::Progress LoadWorker::TakeProgress() {
  MutexLock lock(mutex_);
  const LoadRecorder::Totals totals = recorder_->totals();
  return {offered_, totals.ok, totals.failed, caller_.under_way(), std::exchange(recent_, LatencyHistogram())};
}

size_t LoadWorker::Draw() {
  const size_t count = load_.mix->requests.size();
  if (cumulative_.empty()) return count == 1 ? 0 : random_() % count;
  const double unit = static_cast<double>(random_() >> 11) * 0x1p-53;
  const auto found = std::ranges::upper_bound(cumulative_, unit * cumulative_.back());
  return std::min(static_cast<size_t>(found - cumulative_.begin()), count - 1);
}

void LoadWorker::SendOne(TimePoint due) {
  offered_.fetch_add(1, std::memory_order_relaxed);
  const size_t request = Draw();
  if (caller_.under_way() >= load_.most_under_way) {
    MutexLock lock(mutex_);
    recorder_->Dropped(due, load_.mix->requests[request].class_index);
    return;
  }
  caller_.Start(load_.mix->requests[request].message, due, request);
}

// The thread of the answers, and in a closed loop of all.
void LoadWorker::Answer() {
  for (size_t i = 0; i < load_.concurrency; ++i) SendOne(clock_.Now());
  bool given_up = false;
  while (sending_ || caller_.under_way() > 0) {
    const TimePoint give_up = give_up_;
    if (!given_up && clock_.Now() >= give_up) {
      caller_.CancelAll();
      given_up = !sending_;  // else one more may come
    }
    caller_.Next(given_up ? kNever : give_up, [this](const EndedCall& call) { Ended(call); });
  }
}

void LoadWorker::Ended(const EndedCall& call) {
  const bool wrong = load_.check && call.status.ok() && !load_.check(call.request, call.answer);
  const std::string message = call.status.error_message();
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    stopping = stopping_;
    const CallEnd end{call.status.error_code(), message, wrong};
    recorder_->Done(call.times, end, load_.mix->requests[call.request].class_index);
    if (call.status.ok()) recent_.Record(call.times.done - call.times.due);
    if (load_.wait_when_full) changed_.NotifyOne();
  }
  const TimePoint now = clock_.Now();
  if (load_.concurrency > 0 && !stopping && now < load_.window.end) SendOne(now);
}

bool LoadWorker::WaitUntilDue(TimePoint due) {
  MutexLock lock(mutex_);
  while (!stopping_ && clock_.Now() < due) clock_.WaitUntil(mutex_, changed_, due);
  if (!load_.wait_when_full) return !stopping_;
  while (!stopping_ && caller_.under_way() >= load_.most_under_way && clock_.Now() < give_up_.load()) {
    clock_.WaitUntil(mutex_, changed_, give_up_);
  }
  return !stopping_;
}

// The thread that sends what is due.
void LoadWorker::Pace() {
  // Timers of this thread may not be put off to coincide with others.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  while (const std::optional<Duration> next = load_.arrivals()) {
    const TimePoint due = load_.start + *next;
    if (due >= load_.window.end || !WaitUntilDue(due)) break;
    SendOne(due);
  }
  sending_ = false;
  caller_.Wake();
}

}  // namespace ferry
