#ifndef FERRY_LOADGEN_JSON_DATA_H_
#define FERRY_LOADGEN_JSON_DATA_H_

#include <string_view>
#include <vector>

#include "ferry/status.h"
#include "loadgen/named_tensor.h"

namespace ferry {

// Reads the JSON that perf_analyzer takes as --input-data: {"data": [STEP, ...], "validation_data": [STEP, ...]}, where a
// step has a tensor for each input (or output) by its name. A tensor is an array of numbers, strings or booleans in
// row-major order, {"content": ARRAY, "shape": [..]}, or {"b64": RAW_CONTENTS} in place of the array. Arrays in arrays are
// flattened, both of steps (streams of a sequence) and of numbers.
//
// A shape in the data goes before `shapes`; where neither sets a variable extent, the number of elements does if it can.
//
// Errors: INVALID_ARGUMENT, naming the step (counted from 0) and the tensor.
Result<std::vector<DataStep>> ParseJsonSteps(std::string_view json, const ModelDescription& model,
                                             const ShapesByName& shapes);

}  // namespace ferry

#endif  // FERRY_LOADGEN_JSON_DATA_H_
