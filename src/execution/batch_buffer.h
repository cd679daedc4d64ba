#ifndef FERRY_EXECUTION_BATCH_BUFFER_H_
#define FERRY_EXECUTION_BATCH_BUFFER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "ferry/batcher.h"
#include "ferry/model_config.h"

namespace ferry {

// BatchBuffer is where the rows of a batch lie behind each other, one aligned block for each input of the model.
//
// Guarantees: Gather() copies each input byte once. Blocks are allocated at construction for full batches where all
//             extents are fixed; else they grow by doubling and are kept.
// Threading:  one instance's thread.
class BatchBuffer {
 public:
  explicit BatchBuffer(const ModelConfig& config);

  // Copies the inputs of `batch` and returns one view for each input of the model, valid until the next call.
  // REQUIRES: the requests share all extents but the first.
  //   RESOURCE_EXHAUSTED  there is no memory for a larger block
  Result<std::span<const TensorView>> Gather(const Batch& batch);

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    size_t capacity = 0;
  };

  Status Reserve(Block& block, size_t bytes);
  Result<Bytes> GatherInput(const Batch& batch, size_t input);

  const ModelConfig& config_;
  std::vector<Block> blocks_;
  std::vector<TensorView> views_;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_BATCH_BUFFER_H_
