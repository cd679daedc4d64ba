#include "execution/reshape.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TensorConfig Tensor(Shape dims, std::optional<Shape> model_dims) {
  return {"t", DataType::kFp32, dims, model_dims, {}};
}

TEST(ReshapeTest, WithoutReshapeTheShapeStays) {
  EXPECT_EQ(ReshapeForModel(Tensor({4}, {}), true, {3, 4}), (Shape{3, 4}));
}

TEST(ReshapeTest, FixedExtentsAreReplacedBehindTheBatch) {
  EXPECT_EQ(ReshapeForModel(Tensor({4}, Shape{2, 2}), true, {3, 4}), (Shape{3, 2, 2}));
  EXPECT_EQ(ReshapeForModel(Tensor({4}, Shape{2, 2}), false, {4}), (Shape{2, 2}));
}

TEST(ReshapeTest, AnExtentOfOneCanVanish) {
  EXPECT_EQ(ReshapeForModel(Tensor({1}, Shape{}), true, {3, 1}), (Shape{3}));
}

TEST(ReshapeTest, VariableExtentsKeepTheirValues) {
  EXPECT_EQ(ReshapeForModel(Tensor({-1, 4}, Shape{-1, 2, 2}), true, {3, 7, 4}), (Shape{3, 7, 2, 2}));
}

TEST(ReshapeTest, ForTheCallerItGoesBack) {
  EXPECT_EQ(ReshapeForCaller(Tensor({4, -1}, Shape{2, 2, -1}), true, {3, 2, 2, 9}), (Shape{3, 4, 9}));
}

}  // namespace
}  // namespace ferry
