#ifndef FERRY_EXECUTION_OUTPUT_MEMORY_H_
#define FERRY_EXECUTION_OUTPUT_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ferry/tensor.h"

namespace ferry {

// OutputMemory knows how many bytes of batches' outputs are still held. An answer may be sent from the batch's own memory,
// all of which stays as long as one client does not take its answer.
//
// Threading: thread-safe. The tensors may outlive it: gRPC lets go of what it sends when it likes.
class OutputMemory {
 public:
  explicit OutputMemory(int64_t limit) : limit_(limit), held_(std::make_shared<std::atomic<int64_t>>(0)) {}

  // Counts the outputs until their last owner has let go of them.
  void Track(std::vector<Tensor>* outputs);

  int64_t held() const { return held_->load(std::memory_order_relaxed); }
  // Whether answers should be copied rather than hold more.
  bool IsScarce() const { return held() > limit_; }

 private:
  const int64_t limit_;
  const std::shared_ptr<std::atomic<int64_t>> held_;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_OUTPUT_MEMORY_H_
