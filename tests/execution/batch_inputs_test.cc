#include "execution/batch_inputs.h"

#include "execution/batch_buffer.h"
#include "execution/batch_group.h"
#include "execution/batch_outputs.h"
#include "support/fake_backend.h"
#include "support/host_device.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using Kind = BatchInput::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Requests of 3 elements in one row, of 2 rows with 2 elements each, and of none.
Batch ThreeRequests() {
  Batch batch;
  const auto add = [&](TestRequest made) {
    batch.rows += made.request->rows;
    batch.requests.push_back(std::move(made.request));
  };
  add(MakeRequest({1, 3}, {1, 2, 3}));
  add(MakeRequest({2, 2}, {4, 5, 6, 7}));
  add(MakeRequest({1, 0}, {}));
  return batch;
}

BatchInputContent Content(Kind kind) { return ContentOf({kind, "n", DataType::kInt32, 0}, ThreeRequests()); }

// As in Triton's documentation on ragged batching.
TEST(BatchInputTest, EachKindSaysWhatTheBatchHolds) {
  EXPECT_THAT(Content(Kind::kElementCount).values, ElementsAre(3, 4, 0));
  EXPECT_THAT(Content(Kind::kAccumulatedElementCount).values, ElementsAre(3, 7, 7));
  EXPECT_THAT(Content(Kind::kAccumulatedElementCountWithZero).values, ElementsAre(0, 3, 7, 7));
  EXPECT_THAT(Content(Kind::kAccumulatedElementCountWithZero).shape, ElementsAre(4));
  EXPECT_THAT(Content(Kind::kMaxElementCountAsShape).shape, ElementsAre(4));
  EXPECT_THAT(Content(Kind::kItemShape).values, ElementsAre(3, 2, 2, 0));
  EXPECT_THAT(Content(Kind::kItemShape).shape, ElementsAre(4, 1));
  EXPECT_THAT(Content(Kind::kItemShapeFlatten).shape, ElementsAre(4));
}

ModelConfig Ragged() {
  ModelConfig config = MakeConfig(8, {-1});
  config.dynamic_batching.emplace();
  config.inputs[0].ragged = true;
  config.batch_inputs.push_back({Kind::kElementCount, "counts", DataType::kFp32, 0});
  config.batch_outputs.push_back({0, 0});
  return config;
}

TEST(RaggedTest, TheModelGetsAllElementsInARowAndTheirCounts) {
  const ModelConfig config = Ragged();
  BatchBuffer buffer(config, Host());
  const Batch batch = ThreeRequests();
  const GatheredInputs gathered = buffer.Gather(batch, batch.rows).value();
  ASSERT_EQ(gathered.views.size(), 2u);
  EXPECT_EQ(gathered.views[0].shape, (Shape{7}));
  EXPECT_THAT(Floats(gathered.views[0].bytes), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(gathered.views[1].shape, (Shape{3}));
  EXPECT_THAT(Floats(gathered.views[1].bytes), ElementsAre(3, 4, 0));
}

TEST(RaggedTest, RequestsOfAnyLengthAreOneGroup) {
  EXPECT_EQ(GroupOf(Ragged(), *MakeRows(1, 3).request), GroupOf(Ragged(), *MakeRows(1, 5).request));
}

TEST(RaggedTest, EachRequestGetsAsManyElementsAsItBrought) {
  const ModelConfig config = Ragged();
  const Batch batch = ThreeRequests();
  const std::vector outputs = {FloatTensor({7}, {1, 2, 3, 4, 5, 6, 7})};
  BatchPosition position{0, {0}};
  const Tensor first = CutOutputs(config, *batch.requests[0], position, outputs).outputs[0];
  position.Advance(*batch.requests[0]);
  const Tensor second = CutOutputs(config, *batch.requests[1], position, outputs).outputs[0];
  EXPECT_EQ(first.shape, (Shape{1, 3}));
  EXPECT_THAT(Floats(first.bytes), ElementsAre(1, 2, 3));
  EXPECT_EQ(second.shape, (Shape{2, 2}));
  EXPECT_THAT(Floats(second.bytes), ElementsAre(4, 5, 6, 7));
}

TEST(RaggedTest, AnOutputWithOtherElementsIsAnError) {
  const ModelConfig config = Ragged();
  BatchBuffer buffer(config, Host());
  const Batch batch = ThreeRequests();
  const GatheredInputs gathered = buffer.Gather(batch, batch.rows).value();
  EXPECT_THAT(CheckOutputs(config, gathered, std::vector{ZeroTensor(DataType::kFp32, {7})}), IsOk());
  EXPECT_THAT(CheckOutputs(config, gathered, std::vector{ZeroTensor(DataType::kFp32, {6})}),
              HasStatus(StatusCode::kUnimplemented, HasSubstr("expected 7 elements, as input 'x' has, got shape [6]")));
}

TEST(OptionalInputTest, RequestsBatchWithTheirLike) {
  ModelConfig config = MakeConfig(8, {2});
  config.inputs.push_back({"bias", DataType::kFp32, {1}, {}, {}, /*optional=*/true});
  TestRequest with = MakeRows(1, 2);
  with.request->inputs.push_back({DataType::kFp32, {1, 1}, with.request->inputs[0].bytes.pieces()[0].first(4)});
  TestRequest without = MakeRows(1, 2);
  without.request->inputs.emplace_back();
  EXPECT_NE(GroupOf(config, *with.request), GroupOf(config, *without.request));
  BatchBuffer buffer(config, Host());
  Batch batch;
  batch.rows = 1;
  batch.requests.push_back(std::move(without.request));
  EXPECT_EQ(buffer.Gather(batch, 1).value().views[1].type, DataType::kInvalid);
}

}  // namespace
}  // namespace ferry
