#ifndef FERRY_TENSOR_H_
#define FERRY_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/status.h"

namespace ferry {

// Element types of the V2 protocol. BYTES elements have no fixed size.
enum class DataType : uint8_t {
  kInvalid,
  kBool,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFp16,
  kFp32,
  kFp64,
  kBytes,
  kBf16,
};

// The name on the wire: "FP32", "BYTES", ...; "<invalid>" for kInvalid.
std::string_view DataTypeName(DataType type);

// The type with that wire name; kInvalid when there is none.
DataType DataTypeFromName(std::string_view name);

// Bytes of one element; 0 for kBytes and kInvalid.
size_t DataTypeSize(DataType type);

// Extents of a tensor, the outermost first. In a model's configuration -1 stands for "any".
using Shape = std::vector<int64_t>;

// "[2,-1,384]"; of a shape with more than 16 extents the first 16, and how many there are.
std::string ShapeToString(std::span<const int64_t> shape);

// The product of the extents; nothing when one of them is negative or the product exceeds 2^63 - 1.
std::optional<int64_t> ElementCount(std::span<const int64_t> shape);

// Bytes of a dense tensor; nothing as for ElementCount, or when the bytes exceed 2^63 - 1.
// REQUIRES: DataTypeSize(type) > 0.
std::optional<int64_t> ByteSize(DataType type, std::span<const int64_t> shape);

using Bytes = std::span<const std::byte>;

// TensorView borrows the bytes of a dense, row-major, little-endian tensor.
struct TensorView {
  DataType type = DataType::kInvalid;
  Shape shape;
  Bytes bytes;
};

// Tensor owns its bytes, or shares them with whoever else holds `owner` (rows of one batch's output, for example).
struct Tensor {
  DataType type = DataType::kInvalid;
  Shape shape;
  Bytes bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
};

// A tensor with memory of its own, all zero, aligned to 64 bytes.
// REQUIRES: ByteSize(type, shape) has a value.
Tensor ZeroTensor(DataType type, Shape shape);

}  // namespace ferry

#endif  // FERRY_TENSOR_H_
