#include "execution/padding.h"

#include "execution/batch_buffer.h"
#include "execution/batch_group.h"
#include "execution/batch_outputs.h"
#include "support/fake_backend.h"
#include "support/host_device.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::byte> BytesOf(float value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return {bytes, bytes + sizeof(value)};
}

// x [-1] is padded with -7 to 4 or 8; y [-1] follows it.
ModelConfig Padded() {
  ModelConfig config = MakeConfig(8, {-1});
  config.dynamic_batching.emplace();
  config.padding = Padding{{{0, {0}, BytesOf(-7)}}, {{0, 0, 0, 0}}, {4, 8}};
  return config;
}

Batch BatchOf(TestRequest a, TestRequest b) {
  Batch batch;
  for (TestRequest* made : {&a, &b}) {
    batch.rows += made->request->rows;
    batch.requests.push_back(std::move(made->request));
  }
  return batch;
}

TEST(PaddingTest, ExtentsAreRoundedUpToTheNextLength) {
  const Padding padding = *Padded().padding;
  EXPECT_EQ(padding.RoundUp(0), 4);
  EXPECT_EQ(padding.RoundUp(4), 4);
  EXPECT_EQ(padding.RoundUp(5), 8);
  EXPECT_EQ(padding.RoundUp(9), 9);
}

TEST(PaddingTest, RequestsThatArePaddedToOneLengthAreOneGroup) {
  const ModelConfig config = Padded();
  EXPECT_THAT(GroupOf(config, *MakeRows(1, 3).request), ElementsAre(4));
  EXPECT_THAT(GroupOf(config, *MakeRows(2, 4).request), ElementsAre(4));
  EXPECT_THAT(GroupOf(config, *MakeRows(1, 5).request), ElementsAre(8));
  EXPECT_THAT(GroupOf(config, *MakeRows(1, 100).request), ElementsAre(100));
}

TEST(PaddingTest, RowsAreFilledUpWithTheConfiguredValue) {
  const ModelConfig config = Padded();
  BatchBuffer buffer(config, Host());
  const Batch batch = BatchOf(MakeRequest({1, 3}, {1, 2, 3}), MakeRequest({2, 2}, {4, 5, 6, 7}));
  const GatheredInputs gathered = buffer.Gather(batch, 3).value();
  EXPECT_EQ(gathered.views[0].shape, (Shape{3, 4}));
  EXPECT_THAT(Floats(gathered.views[0].bytes), ElementsAre(1, 2, 3, -7, 4, 5, -7, -7, 6, 7, -7, -7));
  EXPECT_EQ(gathered.elements, 7);
  EXPECT_EQ(gathered.padding, 5);
}

TEST(PaddingTest, PiecesMayEndAnywhere) {
  const ModelConfig config = Padded();
  BatchBuffer buffer(config, Host());
  TestRequest made = MakeRequest({2, 3}, {1, 2, 3, 4, 5, 6});
  const Bytes whole = made.request->inputs[0].bytes.pieces()[0];
  const std::vector<Bytes> pieces = {whole.first(3), whole.subspan(3, 0), whole.subspan(3, 14), whole.subspan(17)};
  made.request->inputs[0].bytes = BytePieces(pieces);
  Batch batch;
  batch.rows = 2;
  batch.requests.push_back(std::move(made.request));
  EXPECT_THAT(Floats(buffer.Gather(batch, 2).value().views[0].bytes), ElementsAre(1, 2, 3, -7, 4, 5, 6, -7));
}

TEST(PaddingTest, ARequestOfNoLengthIsAllPadding) {
  const ModelConfig config = Padded();
  BatchBuffer buffer(config, Host());
  const Batch batch = BatchOf(MakeRequest({1, 0}, {}), MakeRequest({1, 1}, {4}));
  EXPECT_THAT(Floats(buffer.Gather(batch, 2).value().views[0].bytes), ElementsAre(-7, -7, -7, -7, 4, -7, -7, -7));
}

TEST(PaddingTest, EachCallerGetsWhatItWouldGetAlone) {
  const ModelConfig config = Padded();
  const std::vector outputs = {FloatTensor({3, 4}, {1, 2, 3, 0, 4, 5, 0, 0, 6, 7, 0, 0})};
  TestRequest first = MakeRows(1, 3);
  TestRequest second = MakeRows(2, 2);
  EXPECT_THAT(Floats(CutOutputs(config, *first.request, {0, {}}, outputs).outputs[0].bytes), ElementsAre(1, 2, 3));
  const Tensor cut = CutOutputs(config, *second.request, {1, {}}, outputs).outputs[0];
  EXPECT_EQ(cut.shape, (Shape{2, 2}));
  EXPECT_THAT(Floats(cut.bytes), ElementsAre(4, 5, 6, 7));
}

TEST(PaddingTest, WhatWasNotPaddedIsNotCopied) {
  const ModelConfig config = Padded();
  const std::vector outputs = {FloatTensor({1, 4}, {1, 2, 3, 4})};
  TestRequest made = MakeRows(1, 4);
  EXPECT_EQ(CutOutputs(config, *made.request, {0, {}}, outputs).outputs[0].bytes.data(), outputs[0].bytes.data());
}

TEST(PaddingTest, AnOutputThatDoesNotFollowItsInputIsAnError) {
  const ModelConfig config = Padded();
  BatchBuffer buffer(config, Host());
  const Batch batch = BatchOf(MakeRows(1, 3), MakeRows(1, 4));
  const GatheredInputs gathered = buffer.Gather(batch, 2).value();
  EXPECT_THAT(CheckOutputs(config, gathered, std::vector{ZeroTensor(DataType::kFp32, {2, 4})}), IsOk());
  EXPECT_THAT(CheckOutputs(config, gathered, std::vector{ZeroTensor(DataType::kFp32, {2, 2})}),
              HasStatus(StatusCode::kInternal, HasSubstr("expected shape [2,4], got [2,2]")));
}

// The runs as pairs of offset and length.
std::vector<std::pair<size_t, size_t>> Runs(const Shape& whole, const Shape& part) {
  std::vector<std::pair<size_t, size_t>> runs;
  ForEachRun(whole, part, [&](size_t offset, size_t count) { runs.emplace_back(offset, count); });
  return runs;
}

TEST(ForEachRunTest, ElementsThatLieBehindEachOtherAreOneRun) {
  EXPECT_THAT(Runs({2, 3, 2}, {2, 1, 2}), ElementsAre(Pair(0, 2), Pair(6, 2)));
  EXPECT_THAT(Runs({2, 3, 2}, {1, 2, 1}), ElementsAre(Pair(0, 1), Pair(2, 1)));
  EXPECT_THAT(Runs({4, 3}, {2, 3}), ElementsAre(Pair(0, 6)));
  EXPECT_THAT(Runs({}, {}), ElementsAre(Pair(0, 1)));
  EXPECT_THAT(Runs({2, 3}, {2, 0}), IsEmpty());
}

TEST(FillTest, RepeatsAnElement) {
  std::vector<float> values(3, 1);
  Fill(std::as_writable_bytes(std::span(values)), BytesOf(2.5f));
  EXPECT_THAT(values, ElementsAre(2.5f, 2.5f, 2.5f));
  Fill(std::as_writable_bytes(std::span(values)), BytesOf(0));
  EXPECT_THAT(values, ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace ferry
