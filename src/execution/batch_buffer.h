#ifndef FERRY_EXECUTION_BATCH_BUFFER_H_
#define FERRY_EXECUTION_BATCH_BUFFER_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "ferry/batcher.h"
#include "ferry/device.h"
#include "ferry/model_config.h"

namespace ferry {

// What the model is given of a batch.
struct GatheredInputs {
  int64_t rows = 0;                     // of the execution: those of the batch, or more
  std::span<const TensorView> views{};  // one for each of ModelInputNames(); of type kInvalid where it is left out
  int64_t elements = 0;                 // that the requests brought
  int64_t padding = 0;                  // that were added
};

// Memory that is kept from batch to batch and grows by doubling.
struct BatchBlock {
  MemoryBlock memory;
  size_t capacity = 0;

  using Allocate = std::function<Result<MemoryBlock>(size_t bytes)>;
  // Makes room for so many bytes; what was in it may be lost.
  //   RESOURCE_EXHAUSTED  there is no memory, or so much would be beyond all reason
  Status Reserve(size_t bytes, const Allocate& allocate);
};

// BatchBuffer is where the rows of a batch lie behind each other, one aligned block for each input of the model.
//
// Guarantees: Gather() copies each input byte once. Rows beyond the batch's own repeat its last one. Blocks are allocated
//             at construction for full batches where all extents are fixed; else they grow by doubling and are kept.
// Threading:  one instance's thread.
class BatchBuffer {
 public:
  // The memory is host memory of `device`, which is borrowed.
  BatchBuffer(const ModelConfig& config, Device& device);

  // Copies the inputs of `batch` for an execution of `rows` rows. The views are valid until the next call.
  // REQUIRES: the requests are of one group; `rows` is the batch's or more.
  //   RESOURCE_EXHAUSTED  there is no memory for a larger block
  Result<GatheredInputs> Gather(const Batch& batch, int64_t rows);

 private:
  // The block of one of the views, large enough for a tensor of this type and shape.
  Result<std::span<std::byte>> BlockFor(size_t view, DataType type, const Shape& shape);
  Status GatherInput(const Batch& batch, size_t input, GatheredInputs* gathered);
  Status GatherRagged(const Batch& batch, size_t input, GatheredInputs* gathered);
  Status FillBatchInput(const Batch& batch, size_t index);
  int64_t CopyRows(const Batch& batch, size_t input, const Shape& shape, std::span<std::byte> block);

  const ModelConfig& config_;
  Device& device_;
  std::vector<BatchBlock> blocks_;
  std::vector<TensorView> views_;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_BATCH_BUFFER_H_
