#ifndef FERRY_EXECUTION_BATCH_INPUTS_H_
#define FERRY_EXECUTION_BATCH_INPUTS_H_

#include <vector>

#include "ferry/batcher.h"
#include "ferry/model_config.h"

namespace ferry {

// What a batch_input of the configuration holds for one batch.
struct BatchInputContent {
  Shape shape;
  std::vector<int64_t> values;  // empty where only the shape counts: then all are zero
};
BatchInputContent ContentOf(const BatchInput& input, const Batch& batch);

// Writes the values as elements of `type` (INT32, INT64 or FP32).
void WriteAs(DataType type, std::span<const int64_t> values, std::span<std::byte> out);

}  // namespace ferry

#endif  // FERRY_EXECUTION_BATCH_INPUTS_H_
