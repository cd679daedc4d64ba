#include "execution/batch_runner.h"

#include "support/fake_backend.h"
#include "support/fake_clock.h"
#include "support/fake_device.h"
#include "support/host_device.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// In the order in which a runner creates them.
constexpr size_t kIn = 0;
constexpr size_t kCompute = 1;
constexpr size_t kOut = 2;

// Adds 1 on the device, as work of the stream that it was bound to.
class DeviceModel final : public ModelInstance {
 public:
  explicit DeviceModel(FakeDevice& device) : device_(device) {}

  void BindThread(DeviceStream& stream) override { stream_ = &stream; }

  Result<std::vector<Tensor>> Run(std::span<const TensorView> inputs) override {
    const TensorView& input = inputs[0];
    const MemoryBlock memory = device_.AllocateDevice(input.bytes.size()).value();
    const Status launched = FakeDevice::Launch(*stream_, [from = input.bytes, to = memory.get()] {
      std::vector<float> values = Floats(from);
      for (float& value : values) value += 1;
      std::memcpy(to, values.data(), from.size());
      return Status();
    });
    if (!launched.ok()) return launched;
    return std::vector{Tensor{input.type, input.shape, Bytes(memory.get(), input.bytes.size()), memory}};
  }

 private:
  FakeDevice& device_;
  DeviceStream* stream_ = nullptr;
};

Batch BatchOf(int64_t rows, float value) {
  Batch batch;
  for (int64_t i = 0; i < rows; ++i) batch.requests.push_back(MakeRows(1, 1, value).request);
  batch.rows = rows;
  return batch;
}

class BatchRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(runner_.Prepare(), IsOk()); }

  BatchRun Begin(float value) { return runner_.Begin(BatchOf(2, value), 2); }
  // Copies in, computes and copies out.
  void FinishOne() {
    for (const size_t stream : {kIn, kCompute, kOut}) device_.FinishNext(stream);
  }
  static std::vector<float> Values(const BatchRun& run) { return Floats(run.outputs.at(0).bytes); }

  const ModelConfig config_ = MakeConfig(4, {1});
  FakeClock clock_;
  FakeDevice device_;
  DeviceModel model_{device_};
  BatchRunner runner_{config_, device_, model_, clock_};
};

TEST_F(BatchRunnerTest, OutputsAreCompleteWhenTheRunHasEnded) {
  BatchRun run = Begin(5);
  FinishOne();
  runner_.End(run);
  ASSERT_THAT(run.status, IsOk());
  EXPECT_THAT(Values(run), ElementsAre(6, 6));
  EXPECT_EQ(run.volume.rows, 2);
}

TEST_F(BatchRunnerTest, TheNextBatchIsCopiedInWhileOneComputes) {
  BatchRun first = Begin(1);
  device_.FinishNext(kIn);
  BatchRun second = Begin(2);
  device_.FinishNext(kIn);  // the copy of the second, before the first has computed
  device_.FinishNext(kCompute);
  device_.FinishNext(kOut);
  runner_.End(first);
  EXPECT_THAT(Values(first), ElementsAre(2, 2));
  device_.FinishNext(kCompute);
  device_.FinishNext(kOut);
  runner_.End(second);
  EXPECT_THAT(Values(second), ElementsAre(3, 3));
}

TEST_F(BatchRunnerTest, ASecondBatchMayBeDoneBeforeTheFirstIsEnded) {
  BatchRun first = Begin(1);
  BatchRun second = Begin(2);
  device_.RunFreely();
  runner_.End(second);
  runner_.End(first);
  EXPECT_THAT(Values(first), ElementsAre(2, 2));
  EXPECT_THAT(Values(second), ElementsAre(3, 3));
}

TEST_F(BatchRunnerTest, OutputsStayWhileTheyAreHeld) {
  device_.RunFreely();
  BatchRun first = Begin(1);
  runner_.End(first);
  const std::byte* memory = first.outputs[0].bytes.data();
  BatchRun second = Begin(2);
  runner_.End(second);
  EXPECT_THAT(Values(first), ElementsAre(2, 2));
  first.outputs.clear();
  BatchRun third = Begin(3);
  runner_.End(third);
  EXPECT_EQ(third.outputs[0].bytes.data(), memory);
  EXPECT_THAT(Values(second), ElementsAre(3, 3));
}

// Each step of a batch's way, as work that fails late.
class BatchRunnerFaultTest : public BatchRunnerTest, public ::testing::WithParamInterface<FakeStep> {};

TEST_P(BatchRunnerFaultTest, AFailureIsOfItsBatchAlone) {
  device_.RunFreely();
  BatchRun before = Begin(1);
  device_.FailNext(GetParam(), InternalError("broken"));
  BatchRun broken = Begin(2);
  runner_.End(before);
  runner_.End(broken);
  EXPECT_THAT(before.status, IsOk());
  EXPECT_THAT(Values(before), ElementsAre(2, 2));
  EXPECT_THAT(broken.status, HasStatus(StatusCode::kInternal, HasSubstr("broken")));
  EXPECT_TRUE(broken.divisible);
  EXPECT_TRUE(broken.outputs.empty());
  BatchRun after = Begin(3);
  runner_.End(after);
  ASSERT_THAT(after.status, IsOk());
  EXPECT_THAT(Values(after), ElementsAre(4, 4));
}

INSTANTIATE_TEST_SUITE_P(Steps, BatchRunnerFaultTest,
                         ::testing::Values(FakeStep::kBeginCopyToDevice, FakeStep::kBeginCopyToHost, FakeStep::kRecord,
                                           FakeStep::kWaitFor, FakeStep::kCopyToDevice, FakeStep::kCopyToHost,
                                           FakeStep::kLaunch));

TEST_F(BatchRunnerTest, ADeadDeviceIsNotTriedAgainInParts) {
  BatchRun run = Begin(1);
  device_.Die("illegal address");
  runner_.End(run);
  EXPECT_THAT(run.status, HasStatus(StatusCode::kUnavailable, HasSubstr("illegal address")));
  EXPECT_FALSE(run.divisible);
}

TEST_F(BatchRunnerTest, WhereThereIsNoMemoryTheBatchIsDivisible) {
  device_.FailNext(FakeStep::kAllocateDevice, ResourceExhaustedError("no memory"));
  BatchRun run = Begin(1);
  runner_.End(run);
  EXPECT_THAT(run.status, HasStatus(StatusCode::kResourceExhausted, HasSubstr("no memory")));
  EXPECT_TRUE(run.divisible);
}

TEST(BatchRunnerOnHostTest, NothingIsCopiedAfterTheGather) {
  const ModelConfig config = MakeConfig(4, {1});
  FakeClock clock;
  FakeInstance model(AddOne);
  BatchRunner runner(config, Host(), model, clock);
  ASSERT_THAT(runner.Prepare(), IsOk());
  EXPECT_FALSE(runner.Overlaps());
  BatchRun run = runner.Begin(BatchOf(2, 1), 2);
  runner.End(run);
  EXPECT_THAT(Floats(run.outputs.at(0).bytes), ElementsAre(2, 2));
}

}  // namespace
}  // namespace ferry
