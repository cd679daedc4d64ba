#include "execution/batch_buffer.h"

#include <gtest/gtest.h>

#include "support/host_device.h"
#include "support/requests.h"

namespace ferry {
namespace {

Batch BatchOf(std::vector<TestRequest> requests) {
  Batch batch;
  for (TestRequest& made : requests) {
    batch.rows += made.request->rows;
    batch.requests.push_back(std::move(made.request));
  }
  return batch;
}

template <typename... Requests>
Batch MakeBatch(Requests... requests) {
  std::vector<TestRequest> all;
  (all.push_back(std::move(requests)), ...);
  return BatchOf(std::move(all));
}

std::span<const TensorView> Views(BatchBuffer& buffer, const Batch& batch) {
  return buffer.Gather(batch, batch.rows).value().views;
}

TEST(BatchBufferTest, LaysRowsBehindEachOther) {
  const ModelConfig config = MakeConfig(8, {2});
  BatchBuffer buffer(config, Host());
  const Batch batch = MakeBatch(MakeRequest({1, 2}, {1, 2}), MakeRequest({2, 2}, {3, 4, 5, 6}));
  const std::span<const TensorView> views = Views(buffer, batch);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].shape, (Shape{3, 2}));
  EXPECT_EQ(Floats(views[0].bytes), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(BatchBufferTest, FullBatchesOfFixedShapesNeedNoFurtherMemory) {
  const ModelConfig config = MakeConfig(4, {2});
  BatchBuffer buffer(config, Host());
  const std::byte* small = Views(buffer, MakeBatch(MakeRows(1, 2)))[0].bytes.data();
  const std::byte* full = Views(buffer, MakeBatch(MakeRows(4, 2)))[0].bytes.data();
  EXPECT_EQ(small, full);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(full) % 64, 0u);
}

TEST(BatchBufferTest, VariableShapesGrowAndShrinkBetweenBatches) {
  const ModelConfig config = MakeConfig(64, {-1});
  BatchBuffer buffer(config, Host());
  for (const int64_t width : {3, 1000, 2, 5000, 1}) {
    for (const int64_t rows : {10, 2, 64, 1}) {
      const auto views = Views(buffer, MakeBatch(MakeRows(rows, width, static_cast<float>(width))));
      EXPECT_EQ(views[0].shape, (Shape{rows, width}));
      EXPECT_EQ(Floats(views[0].bytes),
                std::vector<float>(static_cast<size_t>(rows * width), static_cast<float>(width)));
    }
  }
}

TEST(BatchBufferTest, FurtherRowsRepeatTheLastOne) {
  const ModelConfig config = MakeConfig(8, {2});
  BatchBuffer buffer(config, Host());
  const Batch batch = MakeBatch(MakeRequest({1, 2}, {1, 2}), MakeRequest({2, 2}, {3, 4, 5, 6}));
  const GatheredInputs gathered = buffer.Gather(batch, 5).value();
  EXPECT_EQ(gathered.rows, 5);
  EXPECT_EQ(gathered.views[0].shape, (Shape{5, 2}));
  EXPECT_EQ(Floats(gathered.views[0].bytes), (std::vector<float>{1, 2, 3, 4, 5, 6, 5, 6, 5, 6}));
  EXPECT_EQ(gathered.elements, 6);
  EXPECT_EQ(gathered.padding, 4);
}

TEST(BatchBufferTest, ZeroSizedRowsAreFine) {
  const ModelConfig config = MakeConfig(8, {-1});
  BatchBuffer buffer(config, Host());
  const auto views = Views(buffer, MakeBatch(MakeRequest({2, 0}, {})));
  EXPECT_EQ(views[0].shape, (Shape{2, 0}));
  EXPECT_TRUE(views[0].bytes.empty());
}

TEST(BatchBufferTest, TheModelSeesTheReshapedExtents) {
  ModelConfig config = MakeConfig(8, {4});
  config.inputs[0].model_dims = Shape{2, 2};
  BatchBuffer buffer(config, Host());
  EXPECT_EQ(Views(buffer, MakeBatch(MakeRows(3, 4)))[0].shape, (Shape{3, 2, 2}));
}

TEST(BatchBufferTest, WithoutBatchExtentTheShapeStays) {
  const ModelConfig config = MakeConfig(0, {2, 3});
  BatchBuffer buffer(config, Host());
  TestRequest made = MakeRequest({2, 3}, {1, 2, 3, 4, 5, 6});
  made.request->rows = 1;
  EXPECT_EQ(Views(buffer, MakeBatch(std::move(made)))[0].shape, (Shape{2, 3}));
}

}  // namespace
}  // namespace ferry
