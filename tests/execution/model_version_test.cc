#include "ferry/model_version.h"

#include <mutex>

#include "base/strings.h"
#include "execution/completion_pool.h"
#include "support/fake_backend.h"
#include "support/fake_gpu.h"
#include "support/host_device.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A model version on the real clock, with no delay anywhere: no test waits for time.
class ModelVersionTest : public ::testing::Test {
 protected:
  std::unique_ptr<ModelVersion> Make(ModelConfig config) {
    return std::make_unique<ModelVersion>(
        std::move(config), 1, ModelVersion::Environment{clock_, HostOnly(), pool_, stopping_}, ModelVersion::Options{});
  }

  // A model that adds 1 and can be held up: it tells when a batch of real requests has begun and waits for Release().
  FakeModel Gated() {
    return [this](std::span<const TensorView> inputs) {
      if (Floats(inputs[0].bytes)[0] == kHold) {
        begun_.set_value();
        released_.wait();
      }
      return AddOne(inputs);
    };
  }
  void Release() { release_.set_value(); }

  static constexpr float kHold = 99;

  SystemClock clock_;
  HostAndFakeGpu places_;  // outlive what the pool holds of their memory
  FakeDevice& device_ = places_.gpu();
  Devices& devices_ = places_.devices();
  CompletionPool pool_{2};
  std::atomic<bool> stopping_ = false;
  std::promise<void> begun_;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

std::vector<float> AnswerOf(TestRequest& made) { return Floats(made.answer.get().value().outputs[0].bytes); }

ModelConfig Batching(int64_t max_batch_size) {
  ModelConfig config = MakeConfig(max_batch_size, {1});
  config.dynamic_batching.emplace();
  return config;
}

ModelConfig OnGpu(ModelConfig config) {
  config.instances = {0};
  return config;
}

TEST_F(ModelVersionTest, AnswersARequest) {
  FakeBackend backend(AddOne);
  auto model = Make(Batching(4));
  ASSERT_THAT(model->Start(backend), IsOk());
  TestRequest made = MakeRows(2, 1, 5);
  model->Submit(std::move(made.request));
  EXPECT_EQ(AnswerOf(made), (std::vector<float>{6, 6}));
  EXPECT_EQ(model->statistics().Snapshot().inference_count, 2u);
}

TEST_F(ModelVersionTest, RequestsThatWaitForTheInstanceShareABatch) {
  FakeBackend backend(Gated());
  auto model = Make(Batching(4));
  ASSERT_THAT(model->Start(backend), IsOk());
  TestRequest first = MakeRows(1, 1, kHold);
  model->Submit(std::move(first.request));
  begun_.get_future().wait();
  std::vector<TestRequest> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(MakeRows(1, 1, static_cast<float>(i)));
    model->Submit(std::move(waiting.back().request));
  }
  Release();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(AnswerOf(waiting[static_cast<size_t>(i)])[0], static_cast<float>(i + 1));
  const StatisticsSnapshot counts = model->statistics().Snapshot();
  EXPECT_EQ(counts.execution_count, 2u);
  EXPECT_EQ(counts.batches.at(4).compute_infer.count, 1u);
}

TEST_F(ModelVersionTest, WithoutDynamicBatchingEachRequestIsABatchOfItsOwn) {
  FakeBackend backend(Gated());
  auto model = Make(MakeConfig(4, {1}));
  ASSERT_THAT(model->Start(backend), IsOk());
  TestRequest first = MakeRows(1, 1, kHold);
  model->Submit(std::move(first.request));
  begun_.get_future().wait();
  TestRequest second = MakeRows(1, 1, 1);
  TestRequest third = MakeRows(1, 1, 2);
  model->Submit(std::move(second.request));
  model->Submit(std::move(third.request));
  Release();
  EXPECT_EQ(AnswerOf(second)[0], 2);
  EXPECT_EQ(AnswerOf(third)[0], 3);
  EXPECT_EQ(model->statistics().Snapshot().execution_count, 3u);
}

TEST_F(ModelVersionTest, AFailingModelFailsTheBatchAndGoesOn) {
  FakeBackend backend([](std::span<const TensorView> inputs) -> Result<std::vector<Tensor>> {
    if (Floats(inputs[0].bytes)[0] < 0) return InternalError("negative");
    return AddOne(inputs);
  });
  auto model = Make(Batching(4));
  ASSERT_THAT(model->Start(backend), IsOk());
  TestRequest bad = MakeRows(1, 1, -1);
  model->Submit(std::move(bad.request));
  EXPECT_THAT(bad.answer.get(), HasStatus(StatusCode::kInternal, "negative"));
  TestRequest good = MakeRows(1, 1, 1);
  model->Submit(std::move(good.request));
  EXPECT_EQ(AnswerOf(good)[0], 2);
  EXPECT_EQ(model->statistics().Snapshot().failures[static_cast<int>(Failure::kModel)], 1u);
}

// Submits requests of these values so that they share a batch, and returns them.
std::vector<TestRequest> Together(ModelVersion& model, const std::vector<float>& values) {
  std::vector<TestRequest> requests;
  for (const float value : values) {
    requests.push_back(MakeRows(1, 1, value));
    model.Submit(std::move(requests.back().request));
  }
  return requests;
}

// A batch leaves when it is full, however long that takes.
ModelConfig FullBatches(int64_t size) {
  ModelConfig config = Batching(size);
  config.dynamic_batching->max_queue_delay = std::chrono::hours(1);
  return config;
}

TEST_F(ModelVersionTest, OneBadRequestHarmsNobodyElse) {
  FakeBackend backend([](std::span<const TensorView> inputs) -> Result<std::vector<Tensor>> {
    for (const float value : Floats(inputs[0].bytes)) {
      if (value < 0) return InternalError("negative");
    }
    return AddOne(inputs);
  });
  auto model = Make(FullBatches(8));
  ASSERT_THAT(model->Start(backend), IsOk());
  std::vector<TestRequest> requests = Together(*model, {0, 1, 2, -1, 4, 5, 6, 7});
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i == 3) {
      EXPECT_THAT(requests[i].answer.get(), HasStatus(StatusCode::kInternal, "negative"));
    } else {
      EXPECT_EQ(AnswerOf(requests[i])[0], static_cast<float>(i + 1));
    }
  }
  const StatisticsSnapshot counts = model->statistics().Snapshot();
  EXPECT_EQ(counts.success.count, 7u);
  EXPECT_EQ(counts.fail.count, 1u);
  EXPECT_EQ(counts.retries, 1u);
  EXPECT_EQ(counts.batches.at(1).compute_infer.count, 7u);
}

// What a model does to its inputs before it throws must not reach the next run.
TEST_F(ModelVersionTest, EachRunGetsTheInputsAsTheyWere) {
  FakeBackend backend([](std::span<const TensorView> inputs) -> Result<std::vector<Tensor>> {
    Result<std::vector<Tensor>> outputs = AddOne(inputs);
    std::memset(const_cast<std::byte*>(inputs[0].bytes.data()), 0, inputs[0].bytes.size());
    if (inputs[0].shape[0] > 1) return InternalError("too many");
    return outputs;
  });
  auto model = Make(FullBatches(2));
  ASSERT_THAT(model->Start(backend), IsOk());
  std::vector<TestRequest> requests = Together(*model, {3, 4});
  EXPECT_EQ(AnswerOf(requests[0])[0], 4);
  EXPECT_EQ(AnswerOf(requests[1])[0], 5);
}

TEST_F(ModelVersionTest, ABatchThatRunsOutOfMemoryIsHalved) {
  std::mutex mutex;
  std::vector<int64_t> sizes;
  FakeBackend backend([&](std::span<const TensorView> inputs) -> Result<std::vector<Tensor>> {
    const int64_t rows = inputs[0].shape[0];
    if (Floats(inputs[0].bytes)[0] > 0) {  // the warm-up runs on zeros
      const std::lock_guard lock(mutex);
      sizes.push_back(rows);
      if (rows > 2) return ResourceExhaustedError("out of memory");
    }
    return AddOne(inputs);
  });
  auto model = Make(FullBatches(8));
  ASSERT_THAT(model->Start(backend), IsOk());
  std::vector<TestRequest> requests = Together(*model, {1, 2, 3, 4, 5, 6, 7, 8});
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(AnswerOf(requests[i])[0], static_cast<float>(i + 2));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(sizes, (std::vector<int64_t>{8, 4, 2, 2, 4, 2, 2}));
}

TEST_F(ModelVersionTest, WrongRowsFailTheWholeBatchWithoutARetry) {
  FakeBackend backend([](std::span<const TensorView>) { return std::vector{ZeroTensor(DataType::kFp32, {1, 1})}; });
  auto model = Make(FullBatches(4));
  ASSERT_THAT(model->Start(backend), IsOk());
  for (TestRequest& request : Together(*model, {1, 2, 3, 4})) {
    EXPECT_THAT(request.answer.get(),
                HasStatus(StatusCode::kUnimplemented, HasSubstr("expected shape [4,1], got [1,1]")));
  }
  EXPECT_EQ(model->statistics().Snapshot().retries, 0u);
}

TEST_F(ModelVersionTest, NobodyGetsRowsOfAnOutputThatCannotBeSplit) {
  FakeBackend backend([](auto) { return std::vector{ZeroTensor(DataType::kFp32, {1, 1})}; });
  auto model = Make(Batching(4));
  ASSERT_THAT(model->Start(backend), IsOk());
  TestRequest made = MakeRows(2, 1);
  model->Submit(std::move(made.request));
  EXPECT_THAT(made.answer.get(), HasStatus(StatusCode::kUnimplemented, HasSubstr("cannot be split")));
}

TEST_F(ModelVersionTest, WarmUpIsNotCounted) {
  FakeBackend backend(AddOne);
  auto model = Make(Batching(8));
  ASSERT_THAT(model->Start(backend), IsOk());
  EXPECT_EQ(model->statistics().Snapshot().execution_count, 0u);
}

TEST_F(ModelVersionTest, ALoadErrorIsReturned) {
  FakeBackend backend(AddOne, [](const std::string&) { return InternalError("corrupt"); });
  auto model = Make(Batching(8));
  EXPECT_THAT(model->Start(backend), HasStatus(StatusCode::kInternal, "corrupt"));
}

TEST_F(ModelVersionTest, SeveralInstancesWorkAtTheSameTime) {
  std::atomic<int> inside = 0;
  std::promise<void> both;
  std::shared_future<void> met = both.get_future().share();
  FakeBackend backend([&](std::span<const TensorView> inputs) {
    if (Floats(inputs[0].bytes)[0] == kHold) {
      if (++inside == 2) both.set_value();
      met.wait();  // ends only when two batches run at once
    }
    return AddOne(inputs);
  });
  ModelConfig config = MakeConfig(4, {1});
  config.instances = {kOnHost, kOnHost};
  auto model = Make(std::move(config));
  ASSERT_THAT(model->Start(backend), IsOk());
  TestRequest first = MakeRows(1, 1, kHold);
  TestRequest second = MakeRows(1, 1, kHold);
  model->Submit(std::move(first.request));
  model->Submit(std::move(second.request));
  EXPECT_EQ(AnswerOf(first)[0], kHold + 1);
  EXPECT_EQ(AnswerOf(second)[0], kHold + 1);
}

// The first request waits inside its instance while the other instance answers the second.
TEST_F(ModelVersionTest, AnswersKeepTheOrderWhereItIsAskedFor) {
  FakeBackend backend(Gated());
  ModelConfig config = Batching(1);
  config.dynamic_batching->preserve_ordering = true;
  config.instances = {kOnHost, kOnHost};
  auto model = Make(std::move(config));
  ASSERT_THAT(model->Start(backend), IsOk());
  std::mutex mutex;
  std::vector<int> order;
  std::promise<void> third;
  const auto submit = [&](float value, int number) {
    TestRequest made = MakeRows(1, 1, value);
    made.request->WrapCompletion([&, number](Completion inner) -> Completion {
      return [&, number, inner](Result<InferResponse> result) {
        {
          const std::lock_guard lock(mutex);
          order.push_back(number);
        }
        inner(std::move(result));
        if (number == 3) third.set_value();
      };
    });
    model->Submit(std::move(made.request));
    return std::move(made.answer);
  };
  auto first = submit(kHold, 1);
  begun_.get_future().wait();
  auto second = submit(1, 2);
  auto last = submit(2, 3);
  Release();
  third.get_future().wait();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(second.get().value().outputs[0].shape, (Shape{1, 1}));
}

TEST_F(ModelVersionTest, StopFinishesWhatWasAccepted) {
  FakeBackend backend(AddOne);
  auto model = Make(Batching(2));
  ASSERT_THAT(model->Start(backend), IsOk());
  std::vector<TestRequest> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(MakeRows(1, 1, static_cast<float>(i)));
    model->Submit(std::move(all.back().request));
  }
  model->Stop();
  for (TestRequest& made : all) EXPECT_THAT(made.answer.get(), IsOk());
  TestRequest late = MakeRows(1, 1);
  model->Submit(std::move(late.request));
  EXPECT_THAT(late.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("stopped")));
}

TEST_F(ModelVersionTest, OnADeviceOfItsOwnMemoryEachRequestGetsItsRows) {
  device_.RunFreely();
  FakeBackend backend(AddOneOn(device_));
  ModelVersion model(OnGpu(Batching(4)), 1, {clock_, devices_, pool_, stopping_}, {});
  ASSERT_THAT(model.Start(backend), IsOk());
  std::vector<TestRequest> made;
  for (int i = 0; i < 100; ++i) {
    made.push_back(MakeRows(1 + i % 3, 1, static_cast<float>(i)));
    model.Submit(std::move(made.back().request));
  }
  for (size_t i = 0; i < made.size(); ++i) EXPECT_EQ(AnswerOf(made[i])[0], static_cast<float>(i) + 1);
  model.Stop();
}

TEST_F(ModelVersionTest, OnADeviceAFailedCopyFailsItsBatchOnly) {
  device_.RunFreely();
  FakeBackend backend(AddOneOn(device_));
  ModelVersion model(OnGpu(Batching(4)), 1, {clock_, devices_, pool_, stopping_}, {});
  ASSERT_THAT(model.Start(backend), IsOk());
  device_.FailNext(FakeStep::kCopyToHost, InternalError("broken"));
  std::vector<TestRequest> made;
  for (int i = 0; i < 8; ++i) {
    made.push_back(MakeRows(4, 1, static_cast<float>(i)));
    model.Submit(std::move(made.back().request));
  }
  int failed = 0;
  for (TestRequest& each : made) failed += each.answer.get().ok() ? 0 : 1;
  EXPECT_EQ(failed, 1);  // it is alone in its batch, so there is nothing to run again
  model.Stop();
}

TEST_F(ModelVersionTest, EachPlaceHasItsOwnCopyOfTheModel) {
  device_.RunFreely();
  std::vector<std::string> loads;
  FakeBackend backend([&](Device& device) -> FakeModel {
    loads.push_back(device.name());
    return AddOneOn(device);
  });
  ModelConfig config = Batching(4);
  config.instances = {0, kOnHost, 0};
  ModelVersion model(std::move(config), 1, {clock_, devices_, pool_, stopping_}, {});
  ASSERT_THAT(model.Start(backend), IsOk());
  EXPECT_THAT(loads, ElementsAre("fake:0", "cpu"));
  for (int i = 0; i < 50; ++i) {
    TestRequest made = MakeRows(1, 1, static_cast<float>(i));
    model.Submit(std::move(made.request));
    EXPECT_EQ(AnswerOf(made)[0], static_cast<float>(i) + 1);
  }
  model.Stop();
}

TEST_F(ModelVersionTest, ADeviceThatCannotBeOpenedFailsTheLoad) {
  FakeBackend backend(AddOne);
  Devices none(1, [](Placement) -> Result<std::unique_ptr<Device>> { return NotFoundError("GPU 0: no driver"); });
  ModelVersion model(OnGpu(Batching(4)), 1, {clock_, none, pool_, stopping_}, {});
  EXPECT_THAT(model.Start(backend), HasStatus(StatusCode::kNotFound, HasSubstr("no driver")));
}

TEST_F(ModelVersionTest, ADeadDeviceIsToldOfAndItsRequestsAreAnswered) {
  device_.RunFreely();
  FakeBackend backend(AddOneOn);
  std::vector<std::string> told;
  ModelVersion::Environment environment{clock_, devices_, pool_, stopping_};
  environment.device_lost = [&](Placement placement, const Status& reason) {
    told.push_back(StrCat(placement, ": ", reason.message()));
  };
  ModelVersion model(OnGpu(Batching(4)), 1, environment, {});
  ASSERT_THAT(model.Start(backend), IsOk());
  device_.Die("illegal address");
  TestRequest made = MakeRows(1, 1);
  model.Submit(std::move(made.request));
  EXPECT_THAT(made.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("illegal address")));
  model.Stop();
  EXPECT_THAT(told, ElementsAre(AllOf(StartsWith("0: "), HasSubstr("illegal address"))));
}

}  // namespace
}  // namespace ferry
