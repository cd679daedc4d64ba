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

// BytePieces borrows bytes that lie in one piece or in several, in order: a large message comes off its socket in many.
class BytePieces {
 public:
  BytePieces() = default;
  BytePieces(Bytes whole) : whole_(whole), size_(whole.size()) {}  // by conversion: one piece is nothing special
  // Borrows the array as well.
  explicit BytePieces(std::span<const Bytes> pieces);

  size_t size() const { return size_; }
  // Valid while this object lives.
  std::span<const Bytes> pieces() const { return several_.empty() ? std::span(&whole_, 1) : several_; }

 private:
  Bytes whole_;
  std::span<const Bytes> several_;
  size_t size_ = 0;
};

// PieceReader copies the bytes of some pieces out of them, one stretch after the other.
class PieceReader {
 public:
  explicit PieceReader(const BytePieces& bytes) : bytes_(bytes) {}

  // Copies the next `size` bytes and returns where the copy ends. REQUIRES: so many are left.
  std::byte* Read(std::byte* to, size_t size);

 private:
  const BytePieces bytes_;
  size_t piece_ = 0;
  size_t offset_ = 0;  // in that piece
};

// TensorView borrows the bytes of a dense, row-major, little-endian tensor.
struct TensorView {
  DataType type = DataType::kInvalid;
  Shape shape;
  Bytes bytes;
};

// InputView is a TensorView whose bytes may lie in several pieces, as a request has brought them.
struct InputView {
  DataType type = DataType::kInvalid;
  Shape shape;
  BytePieces bytes;
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
