#ifndef FERRY_FRONTEND_CLASSIFICATION_H_
#define FERRY_FRONTEND_CLASSIFICATION_H_

#include "ferry/model_config.h"
#include "ferry/tensor.h"

namespace ferry {

// The `top` greatest values of each row of `output` (of the whole tensor on a model without batching) as the
// classification extension answers them: a BYTES tensor of "value:index" or "value:index:label", the greatest first,
// equal values by index.
// REQUIRES: CheckClassifiable(config) is OK.
//   INVALID_ARGUMENT  more than a million elements
Result<Tensor> Classify(const TensorConfig& config, bool batches, const Tensor& output, int64_t top);

}  // namespace ferry

#endif  // FERRY_FRONTEND_CLASSIFICATION_H_
