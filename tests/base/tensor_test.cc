#include "ferry/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace ferry {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(DataTypeTest, NamesGoBothWays) {
  for (int i = 1; i <= static_cast<int>(DataType::kBf16); ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(DataTypeFromName(DataTypeName(type)), type);
  }
  EXPECT_EQ(DataTypeFromName("FP33"), DataType::kInvalid);
  EXPECT_EQ(DataTypeFromName("<invalid>"), DataType::kInvalid);
}

TEST(DataTypeTest, SizesAreThoseOfTheWire) {
  EXPECT_EQ(DataTypeSize(DataType::kBool), 1u);
  EXPECT_EQ(DataTypeSize(DataType::kBf16), 2u);
  EXPECT_EQ(DataTypeSize(DataType::kInt64), 8u);
  EXPECT_EQ(DataTypeSize(DataType::kBytes), 0u);
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(ElementCount(Shape{2, 3}), 6);
  EXPECT_EQ(ElementCount(Shape{}), 1);
  EXPECT_EQ(ElementCount(Shape{5, 0, 7}), 0);
}

TEST(ShapeTest, HasNoCountWhenNegativeOrTooLarge) {
  EXPECT_EQ(ElementCount(Shape{-1, 4}), std::nullopt);
  EXPECT_EQ(ElementCount(Shape{-1, -4}), std::nullopt);
  EXPECT_EQ(ElementCount(Shape{1, std::numeric_limits<int64_t>::min()}), std::nullopt);
  EXPECT_EQ(ElementCount(Shape{4294967296, 4294967296}), std::nullopt);
  EXPECT_EQ(ElementCount(Shape{1, kHuge + 1, 4}), std::nullopt);
}

TEST(ShapeTest, BytesOverflowToo) {
  EXPECT_EQ(ByteSize(DataType::kFp32, Shape{2, 3}), 24);
  EXPECT_EQ(ByteSize(DataType::kFp32, Shape{1, kHuge}), std::nullopt);
}

TEST(ShapeTest, IsWrittenAsOnTheWire) { EXPECT_EQ(ShapeToString(Shape{-1, 3, 224}), "[-1,3,224]"); }

TEST(ShapeTest, ALongShapeIsCut) {
  EXPECT_EQ(ShapeToString(Shape(20'000, 1)), "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...] of 20000 dimensions");
}

TEST(TensorTest, ZeroTensorIsZeroAndAligned) {
  const Tensor tensor = ZeroTensor(DataType::kFp32, {3, 5});
  EXPECT_EQ(tensor.bytes.size(), 60u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % 64, 0u);
  for (const std::byte byte : tensor.bytes) EXPECT_EQ(byte, std::byte{0});
}

TEST(PieceReaderTest, ReadsAcrossPieces) {
  const std::string text = "abcdefg";
  const Bytes whole = std::as_bytes(std::span(text));
  const std::vector<Bytes> pieces = {whole.first(2), {}, whole.subspan(2, 1), whole.subspan(3)};
  const BytePieces bytes(pieces);
  EXPECT_EQ(bytes.size(), 7u);
  PieceReader reader(bytes);
  std::string read(7, ' ');
  auto* to = reinterpret_cast<std::byte*>(read.data());
  to = reader.Read(to, 4);
  to = reader.Read(to, 0);
  reader.Read(to, 3);
  EXPECT_EQ(read, text);
}

TEST(PieceReaderTest, OnePieceIsNothingSpecial) {
  const std::string text = "abc";
  const BytePieces bytes = std::as_bytes(std::span(text));
  std::string read(3, ' ');
  PieceReader(bytes).Read(reinterpret_cast<std::byte*>(read.data()), bytes.size());
  EXPECT_EQ(read, text);
  EXPECT_EQ(BytePieces().size(), 0u);
}

}  // namespace
}  // namespace ferry
