#ifndef FERRY_EXECUTION_RESPONSE_ORDER_H_
#define FERRY_EXECUTION_RESPONSE_ORDER_H_

#include <deque>
#include <optional>
#include <vector>

#include "ferry/mutex.h"
#include "ferry/request.h"

namespace ferry {

// ResponseOrder lets answers leave in the order in which their requests entered, whatever order they are ready in. An
// answer that is ready early is kept; a failure counts as an answer.
//
// Threading: thread-safe. Completions run on the thread that made the first of them possible, one at a time.
class ResponseOrder {
 public:
  // Gives the request its place and makes its completion wait for those before it.
  void Enter(InferRequest& request);

 private:
  struct Place {
    Completion completion;
    std::optional<Result<InferResponse>> result;
  };

  void Settle(uint64_t number, Result<InferResponse> result);

  Mutex mutex_;
  std::deque<Place> places_ FERRY_GUARDED_BY(mutex_);
  uint64_t first_ FERRY_GUARDED_BY(mutex_) = 0;  // number of places_.front()
  bool releasing_ FERRY_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_RESPONSE_ORDER_H_
