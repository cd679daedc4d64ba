#include "ferry/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/strings.h"

namespace ferry {

namespace {

struct TypeFacts {
  std::string_view name;
  size_t size;
};

// In the order of DataType.
constexpr std::array<TypeFacts, 15> kTypes = {{{"<invalid>", 0},
                                               {"BOOL", 1},
                                               {"UINT8", 1},
                                               {"UINT16", 2},
                                               {"UINT32", 4},
                                               {"UINT64", 8},
                                               {"INT8", 1},
                                               {"INT16", 2},
                                               {"INT32", 4},
                                               {"INT64", 8},
                                               {"FP16", 2},
                                               {"FP32", 4},
                                               {"FP64", 8},
                                               {"BYTES", 0},
                                               {"BF16", 2}}};

constexpr std::align_val_t kAlignment{64};

}  // namespace

std::string_view DataTypeName(DataType type) { return kTypes[static_cast<size_t>(type)].name; }

size_t DataTypeSize(DataType type) { return kTypes[static_cast<size_t>(type)].size; }

DataType DataTypeFromName(std::string_view name) {
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}

std::string ShapeToString(std::span<const int64_t> shape) {
  constexpr size_t kMostShown = 16;
  if (shape.size() <= kMostShown) return StrCat("[", StrJoin(shape, ","), "]");
  return StrCat("[", StrJoin(shape.first(kMostShown), ","), ",...] of ", shape.size(), " dimensions");
}

std::optional<int64_t> ElementCount(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

std::optional<int64_t> ByteSize(DataType type, std::span<const int64_t> shape) {
  FERRY_CHECK(DataTypeSize(type) > 0, "a type without a fixed size has no byte size");
  const std::optional<int64_t> count = ElementCount(shape);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(DataTypeSize(type)), &bytes)) return std::nullopt;
  return bytes;
}

BytePieces::BytePieces(std::span<const Bytes> pieces) : several_(pieces) {
  for (const Bytes piece : pieces) size_ += piece.size();
}

std::byte* PieceReader::Read(std::byte* to, size_t size) {
  const std::span<const Bytes> pieces = bytes_.pieces();
  while (size > 0) {
    FERRY_CHECK(piece_ < pieces.size(), "more bytes are read than the pieces have");
    const Bytes left = pieces[piece_].subspan(offset_);
    const size_t taken = std::min(size, left.size());
    if (taken > 0) std::memcpy(to, left.data(), taken);
    to += taken;
    size -= taken;
    offset_ += taken;
    if (taken == left.size()) {
      ++piece_;
      offset_ = 0;
    }
  }
  return to;
}

Tensor ZeroTensor(DataType type, Shape shape) {
  const auto size = static_cast<size_t>(ByteSize(type, shape).value());
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(::operator new(size + 1, kAlignment)),
                                    [](std::byte* bytes) { ::operator delete(bytes, kAlignment); });
  std::memset(memory.get(), 0, size);
  const Bytes bytes(memory.get(), size);
  return Tensor{type, std::move(shape), bytes, std::move(memory)};
}

}  // namespace ferry
