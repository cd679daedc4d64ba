#include "backend/graphed_forward.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Like a CUDA graph it works on the addresses that it was recorded with: `work` finds its inputs there, and its outputs are
// written where those of the first call are.
class FakeGraph final : public RecordedWork {
 public:
  explicit FakeGraph(std::function<void()> replay) : replay_(std::move(replay)) {}
  void Replay() override { replay_(); }

 private:
  const std::function<void()> replay_;
};

class GraphedForwardTest : public ::testing::Test {
 protected:
  // x * 10 + y, where y may be left out.
  Result<ModelOutputs> Forward(const std::vector<at::Tensor>& inputs) {
    ++calls_;
    at::Tensor output = inputs[0].mul(10);
    if (inputs[1].defined()) output.add_(inputs[1]);
    if (recording_) {
      recorded_inputs_ = inputs;
      recorded_output_ = output;
      output.fill_(-1);  // nothing is computed while it is recorded
    }
    ModelOutputs outputs;
    outputs.tensors = {output};
    outputs.names = {"z"};
    return outputs;
  }

  std::unique_ptr<RecordedWork> Record(const std::function<void()>& work) {
    ++recordings_;
    recording_ = true;
    work();
    recording_ = false;
    if (!failure_.empty()) throw std::runtime_error(failure_);
    return std::make_unique<FakeGraph>([inputs = recorded_inputs_, output = recorded_output_] {
      output.copy_(inputs[0].mul(10));
      if (inputs[1].defined()) output.add_(inputs[1]);
    });
  }

  Result<ModelOutputs> TryRun(const at::Tensor& x, const at::Tensor& y = {}) {
    return forward_.Run({x, y}, [&](const std::vector<at::Tensor>& inputs) { return Forward(inputs); });
  }
  at::Tensor Run(const at::Tensor& x, const at::Tensor& y = {}) { return TryRun(x, y).value().tensors[0]; }
  at::Tensor RunValue(float x) { return Run(at::full({2}, x)); }
  static float Value(const at::Tensor& tensor) { return tensor.data_ptr<float>()[0]; }

  int calls_ = 0;
  int recordings_ = 0;
  std::string failure_;
  bool recording_ = false;
  std::vector<at::Tensor> recorded_inputs_;
  at::Tensor recorded_output_;
  GraphedForward forward_{"m", [this](const std::function<void()>& work) { return Record(work); }};
};

TEST_F(GraphedForwardTest, EachRunHasTheOutputsOfItsOwnInputs) {
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(Value(RunValue(static_cast<float>(i))), static_cast<float>(10 * i));
  EXPECT_EQ(recordings_, 1);
  EXPECT_EQ(calls_, 4);  // three runs and the recording
}

TEST_F(GraphedForwardTest, OutputsStayAsTheyAreWhenTheGraphIsReplayed) {
  for (int i = 0; i < 4; ++i) RunValue(1);
  const at::Tensor before = RunValue(2);
  RunValue(3);
  EXPECT_EQ(Value(before), 20);
}

TEST_F(GraphedForwardTest, NamesOfOutputsStay) {
  for (int i = 0; i < 5; ++i) EXPECT_THAT(TryRun(at::full({2}, 1.f)).value().names, ElementsAre("z"));
}

TEST_F(GraphedForwardTest, AnInputLeftOutIsAnotherGraph) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Value(Run(at::full({2}, 1.f), at::full({2}, 5.f))), 15);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Value(Run(at::full({2}, 1.f))), 10);
  EXPECT_EQ(recordings_, 2);
}

TEST_F(GraphedForwardTest, WhatCannotBeRecordedIsRun) {
  failure_ = "operation not permitted when stream is capturing";
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(Value(RunValue(static_cast<float>(i))), static_cast<float>(10 * i));
  EXPECT_EQ(recordings_, 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Value(Run(at::full({3}, 1.f))), 10);
  EXPECT_EQ(recordings_, 1);
}

TEST_F(GraphedForwardTest, AModelThatFailsFailsAsItDoesWithoutGraphs) {
  const auto run = [&] {
    return forward_.Run({at::full({2}, 1.f)}, [](const std::vector<at::Tensor>&) -> Result<ModelOutputs> {
      return InvalidArgumentError("no tensor");
    });
  };
  for (int i = 0; i < 6; ++i) EXPECT_THAT(run(), HasStatus(StatusCode::kInvalidArgument, HasSubstr("no tensor")));
}

}  // namespace
}  // namespace ferry
