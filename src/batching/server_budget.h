#ifndef FERRY_BATCHING_SERVER_BUDGET_H_
#define FERRY_BATCHING_SERVER_BUDGET_H_

#include <cstddef>
#include <cstdint>

#include "ferry/mutex.h"

namespace ferry {

// ServerBudget bounds what waits in all queues of a server together.
//
// Threading: thread-safe. Its lock is taken last, inside a batcher's.
class ServerBudget {
 public:
  struct Limits {
    size_t max_requests = 65536;
    int64_t max_bytes = int64_t{4} << 30;
  };

  explicit ServerBudget(Limits limits) : limits_(limits) {}

  // Takes one request of so many bytes into account; false, and nothing taken, when that exceeds a limit.
  [[nodiscard]] bool TryTake(int64_t bytes) {
    MutexLock lock(mutex_);
    if (requests_ >= limits_.max_requests || bytes_ + bytes > limits_.max_bytes) return false;
    ++requests_;
    bytes_ += bytes;
    return true;
  }

  void GiveBack(size_t requests, int64_t bytes) {
    MutexLock lock(mutex_);
    requests_ -= requests;
    bytes_ -= bytes;
  }

  const Limits& limits() const { return limits_; }

 private:
  const Limits limits_;
  Mutex mutex_;
  size_t requests_ FERRY_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ FERRY_GUARDED_BY(mutex_) = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHING_SERVER_BUDGET_H_
