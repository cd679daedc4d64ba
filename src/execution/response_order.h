#ifndef FERRY_EXECUTION_RESPONSE_ORDER_H_
#define FERRY_EXECUTION_RESPONSE_ORDER_H_

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "ferry/mutex.h"
#include "ferry/request.h"

namespace ferry {

// ResponseOrder lets answers leave in the order in which their requests entered, whatever order they are ready in. An
// answer that is ready early is kept. A failure leaves at once, so that a refused or expired request is not held up by
// those that run, and nobody waits for its answer any more.
//
// Threading: thread-safe. A failure leaves on the thread that brings it, answers leave on that of a posted task, one at a
//            time: whoever brings the first of many does not have to send them all.
// Ownership: shared with the requests that have entered and with the task, which may end after the model version.
class ResponseOrder : public std::enable_shared_from_this<ResponseOrder> {
 public:
  // Runs a task soon, on another thread.
  using Post = std::function<void(std::function<void()> task)>;

  explicit ResponseOrder(Post post) : post_(std::move(post)) {}

  // Gives the request its place and makes its completion wait for those before it.
  void Enter(InferRequest& request);

 private:
  struct Place {
    Completion completion;  // null once a failure has left
    bool settled = false;
    InferResponse response;
  };

  void Settle(uint64_t number, Result<InferResponse> result);
  void Release();

  const Post post_;

  Mutex mutex_;
  std::deque<Place> places_ FERRY_GUARDED_BY(mutex_);
  uint64_t first_ FERRY_GUARDED_BY(mutex_) = 0;  // number of places_.front()
  bool releasing_ FERRY_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_RESPONSE_ORDER_H_
