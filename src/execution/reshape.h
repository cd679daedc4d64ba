#ifndef FERRY_EXECUTION_RESHAPE_H_
#define FERRY_EXECUTION_RESHAPE_H_

#include "ferry/model_config.h"

namespace ferry {

// The two directions of a tensor's `reshape`: the elements stay, only the extents change. Variable extents keep their
// values in their order: dims [-1,2] with reshape [2,-1] turn [5,2] into [2,5]. A batch extent in front is left alone.
// Without `reshape` both return `shape`.

Shape ReshapeForModel(const TensorConfig& input, bool batches, const Shape& shape);
Shape ReshapeForCaller(const TensorConfig& output, bool batches, const Shape& shape);

}  // namespace ferry

#endif  // FERRY_EXECUTION_RESHAPE_H_
