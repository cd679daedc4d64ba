#ifndef FERRY_BATCHING_EXPIRY_TIMER_H_
#define FERRY_BATCHING_EXPIRY_TIMER_H_

#include <map>
#include <thread>

#include "ferry/batcher.h"
#include "ferry/clock.h"
#include "ferry/mutex.h"

namespace ferry {

// ExpiryTimer is the one thread of a server that calls Batcher::Expire() when a waiting request's time is up, also while
// every instance is busy. It sleeps until the earliest of the times it was given.
//
// Threading: thread-safe. Arm() may be called with the batcher's own lock held.
class ExpiryTimer {
 public:
  explicit ExpiryTimer(Clock& clock);
  ~ExpiryTimer();

  // Calls batcher.Expire() at `time`, unless that is to happen earlier anyway.
  void Arm(Batcher& batcher, TimePoint time);

  // After this returns the batcher is not called any more. It must not be armed again.
  void Forget(Batcher& batcher);

 private:
  void Loop();

  Clock& clock_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Batcher*, TimePoint> due_ FERRY_GUARDED_BY(mutex_);
  Batcher* calling_ FERRY_GUARDED_BY(mutex_) = nullptr;
  bool closing_ FERRY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHING_EXPIRY_TIMER_H_
