#include "ferry/model_version.h"

#include <mutex>

#include "execution/completion_pool.h"
#include "support/fake_backend.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

// A model version on the real clock, with no delay anywhere: no test waits for time.
class ModelVersionTest : public ::testing::Test {
 protected:
  std::unique_ptr<ModelVersion> Make(ModelConfig config) {
    return std::make_unique<ModelVersion>(std::move(config), 1, ModelVersion::Environment{clock_, pool_, stopping_},
                                          ModelVersion::Options{});
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
  config.instance_count = 2;
  auto model = Make(std::move(config));
  ASSERT_THAT(model->Start(backend), IsOk());
  TestRequest first = MakeRows(1, 1, kHold);
  TestRequest second = MakeRows(1, 1, kHold);
  model->Submit(std::move(first.request));
  model->Submit(std::move(second.request));
  EXPECT_EQ(AnswerOf(first)[0], kHold + 1);
  EXPECT_EQ(AnswerOf(second)[0], kHold + 1);
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

}  // namespace
}  // namespace ferry
