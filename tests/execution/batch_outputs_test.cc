#include "execution/batch_outputs.h"

#include "support/fake_backend.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

GatheredInputs Rows(int64_t rows) { return {.rows = rows}; }

TEST(CheckOutputsTest, AcceptsWhatIsConfigured) {
  EXPECT_THAT(CheckOutputs(MakeConfig(8, {2}), Rows(3), std::vector{ZeroTensor(DataType::kFp32, {3, 2})}), IsOk());
  EXPECT_THAT(CheckOutputs(MakeConfig(8, {-1}), Rows(3), std::vector{ZeroTensor(DataType::kFp32, {3, 9})}), IsOk());
  EXPECT_THAT(CheckOutputs(MakeConfig(0, {2}), Rows(1), std::vector{ZeroTensor(DataType::kFp32, {2})}), IsOk());
}

TEST(CheckOutputsTest, TooFewRowsCannotBeSplit) {
  EXPECT_THAT(CheckOutputs(MakeConfig(8, {2}), Rows(3), std::vector{ZeroTensor(DataType::kFp32, {1, 2})}),
              HasStatus(StatusCode::kUnimplemented,
                        AllOf(HasSubstr("'y'"), HasSubstr("expected shape [3,2]"), HasSubstr("got [1,2]"))));
}

TEST(CheckOutputsTest, OtherExtentsAreNamed) {
  EXPECT_THAT(CheckOutputs(MakeConfig(8, {5}), Rows(3), std::vector{ZeroTensor(DataType::kFp32, {3, 2})}),
              HasStatus(StatusCode::kInternal, AllOf(HasSubstr("[3,5]"), HasSubstr("[3,2]"))));
}

TEST(CheckOutputsTest, AnotherTypeIsNamed) {
  EXPECT_THAT(CheckOutputs(MakeConfig(8, {2}), Rows(3), std::vector{ZeroTensor(DataType::kInt64, {3, 2})}),
              HasStatus(StatusCode::kInvalidArgument, AllOf(HasSubstr("INT64"), HasSubstr("FP32"))));
}

TEST(CheckOutputsTest, AMissingOutputIsAnError) {
  EXPECT_THAT(CheckOutputs(MakeConfig(8, {2}), Rows(3), {}),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("expected 1 outputs, got 0")));
}

TEST(CutOutputsTest, GivesEachRequestItsRowsWithoutCopying) {
  const ModelConfig config = MakeConfig(8, {2});
  const std::vector outputs = {FloatTensor({3, 2}, {1, 2, 3, 4, 5, 6})};
  TestRequest made = MakeRows(2, 2);
  const InferResponse response = CutOutputs(config, *made.request, {1, {}}, outputs);
  ASSERT_EQ(response.outputs.size(), 1u);
  EXPECT_EQ(response.outputs[0].shape, (Shape{2, 2}));
  EXPECT_EQ(Floats(response.outputs[0].bytes), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(response.outputs[0].bytes.data(), outputs[0].bytes.data() + 8);
  EXPECT_EQ(response.outputs[0].owner, outputs[0].owner);
}

TEST(CutOutputsTest, KeepsTheOrderThatTheRequestAskedFor) {
  ModelConfig config = MakeConfig(8, {1});
  config.outputs.push_back({"z", DataType::kFp32, {1}, {}, {}});
  const std::vector outputs = {FloatTensor({1, 1}, {1}), FloatTensor({1, 1}, {2})};
  TestRequest made = MakeRows(1, 1);
  made.request->outputs = {1, 0};
  const InferResponse response = CutOutputs(config, *made.request, {0, {}}, outputs);
  EXPECT_EQ(Floats(response.outputs[0].bytes), std::vector<float>{2});
  EXPECT_EQ(Floats(response.outputs[1].bytes), std::vector<float>{1});
}

}  // namespace
}  // namespace ferry
