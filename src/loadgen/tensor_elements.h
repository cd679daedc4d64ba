#ifndef FERRY_LOADGEN_TENSOR_ELEMENTS_H_
#define FERRY_LOADGEN_TENSOR_ELEMENTS_H_

#include <span>
#include <string>

#include "ferry/tensor.h"
#include "loadgen/named_tensor.h"

namespace ferry {

// The element at `index` in row-major order, as a number (integers beyond 2^53 are rounded) or for a person: the shortest
// text that tells it from its neighbours. REQUIRES: the bytes hold it; for ElementAsDouble(), the type is not BYTES.
double ElementAsDouble(const NamedTensor& tensor, int64_t index);
std::string ElementAsText(const NamedTensor& tensor, int64_t index);

// "[0,3]": where an element is. REQUIRES: the shape has no open extents and holds the element.
std::string IndexToString(std::span<const int64_t> shape, int64_t index);

}  // namespace ferry

#endif  // FERRY_LOADGEN_TENSOR_ELEMENTS_H_
