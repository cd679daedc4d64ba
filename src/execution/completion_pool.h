#ifndef FERRY_EXECUTION_COMPLETION_POOL_H_
#define FERRY_EXECUTION_COMPLETION_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "ferry/mutex.h"

namespace ferry {

// CompletionPool runs completions away from the instance threads, so that building and sending responses does not keep
// a model idle. One task a batch.
//
// Guarantees: each posted task runs exactly once; the destructor runs what is left first.
// Threading:  thread-safe. Tasks of one poster may overtake each other.
class CompletionPool {
 public:
  explicit CompletionPool(int threads);
  ~CompletionPool();

  void Post(std::function<void()> task);

 private:
  void Loop();

  Mutex mutex_;
  CondVar posted_;
  std::deque<std::function<void()>> tasks_ FERRY_GUARDED_BY(mutex_);
  bool closing_ FERRY_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_COMPLETION_POOL_H_
