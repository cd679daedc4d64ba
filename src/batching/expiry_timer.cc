#include "batching/expiry_timer.h"

#include <algorithm>

namespace ferry {

ExpiryTimer::ExpiryTimer(Clock& clock) : clock_(clock), thread_([this] { Loop(); }) {}

ExpiryTimer::~ExpiryTimer() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void ExpiryTimer::Arm(Batcher& batcher, TimePoint time) {
  MutexLock lock(mutex_);
  const auto [entry, added] = due_.try_emplace(&batcher, time);
  if (!added && entry->second <= time) return;
  entry->second = time;
  changed_.NotifyAll();
}

void ExpiryTimer::Forget(Batcher& batcher) {
  MutexLock lock(mutex_);
  due_.erase(&batcher);
  while (calling_ == &batcher) changed_.Wait(mutex_);
  due_.erase(&batcher);  // the call that was waited for may have armed it once more
}

void ExpiryTimer::Loop() {
  MutexLock lock(mutex_);
  while (!closing_) {
    const auto first =
        std::min_element(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const TimePoint time = first == due_.end() ? kNever : first->second;
    if (clock_.Now() < time) {
      clock_.WaitUntil(mutex_, changed_, time);
      continue;
    }
    Batcher& batcher = *first->first;
    calling_ = &batcher;
    due_.erase(first);
    mutex_.Unlock();
    const TimePoint next = batcher.Expire();
    mutex_.Lock();
    if (next != kNever) {
      const auto [entry, added] = due_.try_emplace(&batcher, next);
      if (!added) entry->second = std::min(entry->second, next);
    }
    calling_ = nullptr;
    changed_.NotifyAll();
  }
}

}  // namespace ferry
