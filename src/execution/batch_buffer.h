#ifndef FERRY_EXECUTION_BATCH_BUFFER_H_
#define FERRY_EXECUTION_BATCH_BUFFER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "ferry/batcher.h"
#include "ferry/model_config.h"

namespace ferry {

// What the model is given of a batch.
struct GatheredInputs {
  int64_t rows = 0;                     // of the execution: those of the batch, or more
  std::span<const TensorView> views{};  // one for each of ModelInputNames(); of type kInvalid where it is left out
  int64_t elements = 0;                 // that the requests brought
  int64_t padding = 0;                  // that were added
};

// BatchBuffer is where the rows of a batch lie behind each other, one aligned block for each input of the model.
//
// Guarantees: Gather() copies each input byte once. Rows beyond the batch's own repeat its last one. Blocks are allocated
//             at construction for full batches where all extents are fixed; else they grow by doubling and are kept.
// Threading:  one instance's thread.
class BatchBuffer {
 public:
  explicit BatchBuffer(const ModelConfig& config);

  // Copies the inputs of `batch` for an execution of `rows` rows. The views are valid until the next call.
  // REQUIRES: the requests are of one group; `rows` is the batch's or more.
  //   RESOURCE_EXHAUSTED  there is no memory for a larger block
  Result<GatheredInputs> Gather(const Batch& batch, int64_t rows);

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    size_t capacity = 0;
  };

  Status Reserve(Block& block, size_t bytes);
  // The block of one of the views, large enough for a tensor of this type and shape.
  Result<std::span<std::byte>> BlockFor(size_t view, DataType type, const Shape& shape);
  Status GatherInput(const Batch& batch, size_t input, GatheredInputs* gathered);
  Status GatherRagged(const Batch& batch, size_t input, GatheredInputs* gathered);
  Status FillBatchInput(const Batch& batch, size_t index);
  int64_t CopyRows(const Batch& batch, size_t input, const Shape& shape, std::span<std::byte> block);

  const ModelConfig& config_;
  std::vector<Block> blocks_;
  std::vector<TensorView> views_;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_BATCH_BUFFER_H_
