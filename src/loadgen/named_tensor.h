#ifndef FERRY_LOADGEN_NAMED_TENSOR_H_
#define FERRY_LOADGEN_NAMED_TENSOR_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/status.h"
#include "ferry/tensor.h"
#include "loadgen/model_description.h"

namespace ferry {

// NamedTensor is an input or an output of a request as raw contents: little-endian, and each element of BYTES after its
// length in four bytes.
struct NamedTensor {
  std::string name;
  DataType type = DataType::kInvalid;
  Shape shape;  // of an expected output, -1 is any extent
  std::string bytes;
};

void AppendBytesElement(std::string_view element, std::string& bytes);

// The elements of a tensor of BYTES; nothing when the bytes are not made of whole elements.
std::optional<std::vector<std::string_view>> BytesElements(std::string_view bytes);

// Elements of a tensor of any type; nothing when the bytes are not made of whole elements.
std::optional<int64_t> CountElements(const NamedTensor& tensor);

// DataStep is one row of data: the inputs of a model, and what its outputs should be as far as that is known. Shapes are
// without a batch dimension.
struct DataStep {
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> expected;
};

// Shapes of variable inputs, by name, as a user has set them.
using ShapesByName = std::map<std::string, Shape, std::less<>>;

// The shape of one row of an input: what the model fixes, completed by `shapes`; or by `elements` where that leaves one
// extent open and the number of elements is known.
//
// Errors: INVALID_ARGUMENT when an extent stays open (the message names the flag that sets it), or when the shape that was
//         set contradicts the model's.
Result<Shape> ResolveShape(const TensorDescription& input, const ShapesByName& shapes,
                           std::optional<int64_t> elements = std::nullopt);

// Whether `shape` is one that `allowed` allows, where -1 allows any extent.
bool ShapeFits(const Shape& shape, const Shape& allowed);

}  // namespace ferry

#endif  // FERRY_LOADGEN_NAMED_TENSOR_H_
