#ifndef FERRY_REQUEST_H_
#define FERRY_REQUEST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ferry/clock.h"
#include "ferry/status.h"
#include "ferry/tensor.h"

namespace ferry {

// InferResponse carries the outputs of one request: one tensor for each entry of InferRequest::outputs, in that order.
struct InferResponse {
  std::vector<Tensor> outputs;
};

// Runs exactly once, on any thread, with the answer or the reason why there is none. It must not block.
using Completion = std::function<void(Result<InferResponse>)>;

// InferRequest is one validated call on its way through the server.
//
// Guarantees: the completion runs exactly once. Whoever holds the request must complete it; the destructor completes a
//             forgotten one with INTERNAL.
// Threading:  owned by one thread at a time.
class InferRequest {
 public:
  explicit InferRequest(Completion completion) : completion_(std::move(completion)) {}
  ~InferRequest();
  InferRequest(const InferRequest&) = delete;
  InferRequest& operator=(const InferRequest&) = delete;

  // Hands the result to the caller. REQUIRES: not completed yet.
  void Complete(Result<InferResponse> result);

  // Puts `wrap(completion)` in the completion's place.
  void WrapCompletion(const std::function<Completion(Completion)>& wrap) { completion_ = wrap(std::move(completion_)); }

  // One view for each input of the model's configuration, in the configuration's order; of type kInvalid where an optional
  // input is left out. On a model that batches, the first extent of each shape is `rows`.
  std::vector<InputView> inputs;
  // Keeps the bytes of `inputs` alive.
  std::shared_ptr<const void> input_owner;
  // Outputs the caller wants, as indexes into the configuration's outputs, in the order of the answer.
  std::vector<int> outputs;
  // What the request adds to a batch: its batch extent, 1 on a model without batching.
  int64_t rows = 1;
  // What must be equal among requests that share a batch; GroupOf() in src/execution/batch_group.h says what that is.
  std::vector<int64_t> group;
  // Bytes that the request holds while it waits, for the queue's bound: those of its whole message.
  int64_t input_bytes = 0;
  // When the call had arrived completely; durations in the statistics start here.
  TimePoint arrival;
  // When the queue took it.
  TimePoint enqueued;

  // When its client stops waiting.
  TimePoint deadline = kNever;
  // Priority level, 1 the highest; 0 and what is beyond the model's levels is the default level.
  uint64_t priority = 0;
  // Time that it may spend in the queue, where the model lets requests say so; zero: what the model says.
  Duration timeout{0};
  // By which Batcher::Cancel() finds it; unique among the requests that wait. 0: it is never cancelled.
  uint64_t ticket = 0;

 private:
  Completion completion_;
};

}  // namespace ferry

#endif  // FERRY_REQUEST_H_
