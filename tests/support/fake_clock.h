#ifndef FERRY_TESTS_SUPPORT_FAKE_CLOCK_H_
#define FERRY_TESTS_SUPPORT_FAKE_CLOCK_H_

#include <algorithm>
#include <list>
#include <vector>

#include "ferry/clock.h"

namespace ferry {

// A clock that moves only by AdvanceBy(). Waits end when they are notified or when the clock has reached their deadline.
// Mutexes and condition variables that are waited on must outlive the clock's last AdvanceBy().
class FakeClock final : public Clock {
 public:
  TimePoint Now() const override {
    MutexLock lock(mutex_);
    return now_;
  }

  void WaitUntil(Mutex& mutex, CondVar& condition, TimePoint deadline) override FERRY_REQUIRES(mutex) {
    std::list<Waiter>::iterator self;
    {
      MutexLock lock(mutex_);
      if (deadline <= now_) return;
      self = waiters_.insert(waiters_.end(), {&mutex, &condition, deadline});
      arrived_.NotifyAll();
    }
    condition.Wait(mutex);
    MutexLock lock(mutex_);
    waiters_.erase(self);
  }

  // Moves the clock and wakes those whose deadline has come.
  void AdvanceBy(Duration duration) {
    std::vector<Waiter> due;
    {
      MutexLock lock(mutex_);
      now_ += duration;
      std::copy_if(waiters_.begin(), waiters_.end(), std::back_inserter(due),
                   [now = now_](const Waiter& waiter) { return waiter.deadline <= now; });
    }
    for (const Waiter& waiter : due) {
      // With its mutex held the waiter is either inside the wait or has already left it: no notification is lost.
      MutexLock lock(*waiter.mutex);
      waiter.condition->NotifyAll();
    }
  }

  // Waits until somebody waits for exactly `deadline`.
  void BlockUntilSomeoneWaitsFor(TimePoint deadline) {
    MutexLock lock(mutex_);
    while (std::none_of(waiters_.begin(), waiters_.end(),
                        [&](const Waiter& waiter) { return waiter.deadline == deadline; })) {
      arrived_.Wait(mutex_);
    }
  }

 private:
  struct Waiter {
    Mutex* mutex;
    CondVar* condition;
    TimePoint deadline;
  };

  mutable Mutex mutex_;
  CondVar arrived_;
  TimePoint now_ FERRY_GUARDED_BY(mutex_) = TimePoint(std::chrono::hours(1));
  std::list<Waiter> waiters_ FERRY_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_FAKE_CLOCK_H_
