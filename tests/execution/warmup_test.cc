#include "execution/warmup.h"

#include <filesystem>
#include <fstream>

#include "support/fake_backend.h"
#include "support/fake_clock.h"
#include "support/host_device.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using Fill = WarmupInput::Fill;

constexpr Duration kBudget = std::chrono::seconds(30);

std::vector<int64_t> RowsOf(const std::vector<WarmupRun>& plan) {
  std::vector<int64_t> rows;
  for (const WarmupRun& run : plan) rows.push_back(run.rows);
  return rows;
}

WarmupSample Sample(int64_t batch_size, Shape dims, Fill fill = Fill::kZero) {
  WarmupSample sample{"s", batch_size, 2, {}};
  sample.inputs["x"] = {DataType::kFp32, std::move(dims), fill, "data"};
  return sample;
}

class WarmupTest : public ::testing::Test {
 protected:
  Status Run(const ModelConfig& config, FakeModel model) {
    FakeInstance instance([&](std::span<const TensorView> inputs) {
      ran_.push_back(inputs[0].shape);
      return model(inputs);
    });
    BatchRunner runner(config, Host(), instance, clock_);
    EXPECT_THAT(runner.Prepare(), IsOk());
    return RunWarmup({config, runner, clock_, stopping_}, PlanWarmup(config, false).value(), kBudget);
  }

  FakeClock clock_;
  std::atomic<bool> stopping_ = false;
  std::vector<Shape> ran_;
};

TEST_F(WarmupTest, EverySizeIsWarmedTheUsefulOnesFirst) {
  EXPECT_THAT(RowsOf(PlanWarmup(MakeConfig(6), false).value()), ElementsAre(1, 6, 2, 4, 3, 5));
  EXPECT_THAT(RowsOf(PlanWarmup(MakeConfig(0), false).value()), ElementsAre(1));
}

TEST_F(WarmupTest, AFurtherInstanceWarmsItsThreadOnly) {
  EXPECT_THAT(RowsOf(PlanWarmup(MakeConfig(6), true).value()), ElementsAre(1, 6));
}

TEST_F(WarmupTest, WithCudaGraphsEachInstanceRunsEachSizeUntilItIsReplayed) {
  ModelConfig config = MakeConfig(3);
  config.cuda_graphs = true;
  const std::vector<WarmupRun> plan = PlanWarmup(config, true).value();
  EXPECT_THAT(RowsOf(plan), ElementsAre(1, 3, 2));
  EXPECT_THAT(plan, Each(Field(&WarmupRun::count, 4u)));
}

TEST_F(WarmupTest, SamplesComeFirstAndGiveTheSizesTheirExtents) {
  ModelConfig config = MakeConfig(2, {-1});
  config.warmup.push_back(Sample(2, {7}));
  EXPECT_THAT(Run(config, AddOne), IsOk());
  ASSERT_GE(ran_.size(), 4u);
  EXPECT_EQ(ran_[0], (Shape{2, 7}));
  EXPECT_EQ(ran_[1], (Shape{2, 7}));
  EXPECT_EQ(ran_[2], (Shape{1, 7}));
  EXPECT_EQ(ran_.back(), (Shape{2, 7}));
}

TEST_F(WarmupTest, RandomFloatsLieBetweenZeroAndOne) {
  ModelConfig config = MakeConfig(0, {50});
  config.warmup.push_back(Sample(1, {50}, Fill::kRandom));
  const std::vector<float> values = Floats(PlanWarmup(config, false).value()[0].row[0].bytes);
  EXPECT_THAT(values, ::testing::Each(::testing::AllOf(::testing::Ge(0.0f), ::testing::Lt(1.0f))));
  EXPECT_NE(values[0], values[1]);
}

TEST_F(WarmupTest, AFileGivesTheValues) {
  ModelConfig config = MakeConfig(4, {2});
  config.directory = ::testing::TempDir() + "/warmup_test";
  std::filesystem::create_directories(config.directory + "/warmup");
  const float values[] = {3, 4};
  std::ofstream(config.directory + "/warmup/data", std::ios::binary)
      .write(reinterpret_cast<const char*>(values), sizeof(values));
  config.warmup.push_back(Sample(2, {2}, Fill::kFile));
  EXPECT_EQ(Floats(PlanWarmup(config, false).value()[0].row[0].bytes), (std::vector<float>{3, 4}));
}

TEST_F(WarmupTest, SizesThatAreBetterRoundedUpAreFound) {
  ModelConfig config = MakeConfig(4, {2});
  config.dynamic_batching.emplace();
  FakeInstance instance([&](std::span<const TensorView> inputs) {
    clock_.AdvanceBy(std::chrono::milliseconds(inputs[0].shape[0] == 2 ? 9 : 5 + inputs[0].shape[0] / 4));
    return AddOne(inputs);
  });
  BatchRunner runner(config, Host(), instance, clock_);
  ASSERT_THAT(runner.Prepare(), IsOk());
  const WarmupTarget target{config, runner, clock_, stopping_};
  const WarmupRun run = PlanWarmup(config, false).value().back();
  EXPECT_EQ(MeasureSizes(target, run, kNever).For(2), 3);
  EXPECT_EQ(MeasureSizes(target, run, clock_.Now()).For(2), 2);
  config.round_batch_sizes = false;
  EXPECT_EQ(MeasureSizes(target, run, kNever).For(2), 2);
}

TEST_F(WarmupTest, AFileOfTheWrongSizeIsAnError) {
  ModelConfig config = MakeConfig(4, {3});
  config.directory = "/nowhere";
  config.warmup.push_back(Sample(2, {3}, Fill::kFile));
  EXPECT_THAT(PlanWarmup(config, false), HasStatus(StatusCode::kInvalidArgument, HasSubstr("/nowhere/warmup/data")));
}

TEST_F(WarmupTest, ASampleThatFailsFailsTheLoadAndIsNamed) {
  ModelConfig config = MakeConfig(0);
  config.warmup.push_back(Sample(1, {2}));
  EXPECT_THAT(Run(config, [](auto) { return InternalError("no zeros"); }),
              HasStatus(StatusCode::kInternal, "model_warmup 's': no zeros"));
}

TEST_F(WarmupTest, MadeUpValuesThatTheModelRefusesDoNotFailTheLoad) {
  EXPECT_THAT(Run(MakeConfig(8), [](auto) { return InternalError("no zeros"); }), IsOk());
  EXPECT_EQ(ran_.size(), 1u);
}

TEST_F(WarmupTest, OutputsThatContradictTheConfigurationFailTheLoad) {
  EXPECT_THAT(Run(MakeConfig(8),
                  [](auto) {
                    return std::vector{ZeroTensor(DataType::kInt64, {1, 2})};
                  }),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("INT64")));
  EXPECT_THAT(Run(MakeConfig(8),
                  [](auto) {
                    return std::vector{ZeroTensor(DataType::kFp32, {1, 5})};
                  }),
              HasStatus(StatusCode::kInternal, HasSubstr("[1,5]")));
}

// B002: the first extent of the output is always 1, which only shows with a second row.
TEST_F(WarmupTest, AnOutputThatCannotBeSplitDoesNotFailTheLoad) {
  EXPECT_THAT(Run(MakeConfig(8), [](auto) { return std::vector{ZeroTensor(DataType::kFp32, {1, 2})}; }), IsOk());
}

TEST_F(WarmupTest, TheBudgetEndsTheSizes) {
  EXPECT_THAT(Run(MakeConfig(8),
                  [&](auto inputs) {
                    clock_.AdvanceBy(std::chrono::seconds(11));
                    return AddOne(inputs);
                  }),
              IsOk());
  EXPECT_EQ(ran_.size(), 3u);  // three runs of one row took 33 s
}

TEST_F(WarmupTest, AStopEndsIt) {
  EXPECT_THAT(Run(MakeConfig(8),
                  [&](auto inputs) {
                    stopping_ = true;
                    return AddOne(inputs);
                  }),
              HasStatus(StatusCode::kUnavailable, HasSubstr("stopping")));
  EXPECT_EQ(ran_.size(), 1u);
}

}  // namespace
}  // namespace ferry
