#include "ferry/batcher.h"

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "support/fake_clock.h"
#include "support/requests.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

BatchLimits Limits(int64_t max_rows, Duration delay = {}, std::vector<int64_t> preferred = {}) {
  return {max_rows, true, std::move(preferred), delay};
}

class BatcherTest : public ::testing::Test {
 protected:
  std::future<std::optional<Batch>> NextBatchInThread(Batcher& batcher) {
    return std::async(std::launch::async, [&batcher] { return batcher.NextBatch(); });
  }

  uint64_t Rejected() { return statistics_.Snapshot().failures[static_cast<int>(FailureReason::kRejected)]; }

  FakeClock clock_;
  ModelStatistics statistics_;
};

TEST_F(BatcherTest, GivesWhatWaitsAsOneBatch) {
  Batcher batcher(Limits(8), {}, clock_, statistics_);
  for (int i = 0; i < 3; ++i) batcher.Submit(MakeRows(2, 4).request);
  EXPECT_EQ(batcher.PendingApprox(), 3u);
  const std::optional<Batch> batch = batcher.NextBatch();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->requests.size(), 3u);
  EXPECT_EQ(batch->rows, 6);
  EXPECT_EQ(batcher.PendingApprox(), 0u);
}

TEST_F(BatcherTest, AWaitingInstanceGetsALoneRequestAtOnce) {
  Batcher batcher(Limits(8), {}, clock_, statistics_);
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(next.get()->requests.size(), 1u);
}

TEST_F(BatcherTest, SendsAPartialBatchWhenItsOldestRequestReachesTheDelay) {
  Batcher batcher(Limits(8, milliseconds(5)), {}, clock_, statistics_);
  const TimePoint start = clock_.Now();
  batcher.Submit(MakeRows(1, 4).request);
  clock_.AdvanceBy(milliseconds(2));
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(start + milliseconds(5));
  batcher.Submit(MakeRows(1, 4).request);
  clock_.AdvanceBy(milliseconds(3));
  EXPECT_EQ(next.get()->requests.size(), 2u);
}

TEST_F(BatcherTest, AnInstanceThatWaitedForNothingLearnsOfTheDelay) {
  Batcher batcher(Limits(8, milliseconds(5)), {}, clock_, statistics_);
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Submit(MakeRows(1, 4).request);
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(5));
  clock_.AdvanceBy(milliseconds(5));
  EXPECT_EQ(next.get()->requests.size(), 1u);
}

TEST_F(BatcherTest, AFullBatchLeavesBeforeTheDelay) {
  Batcher batcher(Limits(2, milliseconds(5)), {}, clock_, statistics_);
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Submit(MakeRows(1, 4).request);
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(next.get()->requests.size(), 2u);
}

// When one instance leaves with a full batch, its timer must not leave with it.
TEST_F(BatcherTest, ARequestLeftBehindIsStillTimed) {
  Batcher batcher(Limits(2, milliseconds(5)), {}, clock_, statistics_);
  auto first = NextBatchInThread(batcher);
  auto second = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Submit(MakeRows(2, 4).request);
  batcher.Submit(MakeRows(1, 4).request);
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(5));
  clock_.AdvanceBy(milliseconds(5));
  EXPECT_EQ(first.get()->rows + second.get()->rows, 3);
}

TEST_F(BatcherTest, DifferentShapesLeaveInBatchesOfTheirOwn) {
  Batcher batcher(Limits(2), {}, clock_, statistics_);
  for (const int width : {4, 5, 4, 5}) batcher.Submit(MakeRows(1, width).request);
  for (const int width : {4, 5}) {
    const std::optional<Batch> batch = batcher.NextBatch();
    ASSERT_EQ(batch->requests.size(), 2u);
    for (const auto& request : batch->requests) EXPECT_EQ(request->inputs[0].shape[1], width);
  }
}

TEST_F(BatcherTest, AFullQueueRefusesAtOnceAndCounts) {
  Batcher batcher(Limits(8), {.max_requests = 2}, clock_, statistics_);
  batcher.Submit(MakeRows(1, 4).request);
  batcher.Submit(MakeRows(1, 4).request);
  TestRequest third = MakeRows(1, 4);
  batcher.Submit(std::move(third.request));
  EXPECT_THAT(third.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("Exceeds maximum queue size")));
  EXPECT_EQ(batcher.PendingApprox(), 2u);
  EXPECT_EQ(Rejected(), 1u);
}

TEST_F(BatcherTest, BytesAreBoundedToo) {
  Batcher batcher(Limits(8), {.max_bytes = 40}, clock_, statistics_);
  batcher.Submit(MakeRows(2, 4).request);
  TestRequest second = MakeRows(1, 4);
  batcher.Submit(std::move(second.request));
  EXPECT_THAT(second.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("32 bytes wait, 16 more")));
  batcher.NextBatch();
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(batcher.PendingApprox(), 1u);
}

TEST_F(BatcherTest, AfterCloseWhatWaitsLeavesWithoutDelayAndThenNothing) {
  Batcher batcher(Limits(8, milliseconds(5)), {}, clock_, statistics_);
  batcher.Submit(MakeRows(1, 4).request);
  batcher.Close();
  EXPECT_EQ(batcher.NextBatch()->requests.size(), 1u);
  EXPECT_FALSE(batcher.NextBatch());
}

TEST_F(BatcherTest, HurryEndsTheWaitForCompanionsAndGoesOnAccepting) {
  Batcher batcher(Limits(8, milliseconds(5)), {}, clock_, statistics_);
  batcher.Submit(MakeRows(1, 4).request);
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(5));
  batcher.Hurry();
  EXPECT_EQ(next.get()->requests.size(), 1u);
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(batcher.NextBatch()->requests.size(), 1u);
}

TEST_F(BatcherTest, CloseWakesWaitingInstances) {
  Batcher batcher(Limits(8), {}, clock_, statistics_);
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Close();
  EXPECT_FALSE(next.get());
}

TEST_F(BatcherTest, AClosedBatcherRefuses) {
  Batcher batcher(Limits(8), {}, clock_, statistics_);
  batcher.Close();
  TestRequest late = MakeRows(1, 4);
  batcher.Submit(std::move(late.request));
  EXPECT_THAT(late.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("being stopped")));
}

TEST_F(BatcherTest, AbortAnswersWhatWaits) {
  Batcher batcher(Limits(8), {}, clock_, statistics_);
  TestRequest waiting = MakeRows(1, 4);
  batcher.Submit(std::move(waiting.request));
  batcher.Abort(UnavailableError("shutting down"));
  EXPECT_THAT(waiting.answer.get(), HasStatus(StatusCode::kUnavailable, "shutting down"));
  EXPECT_FALSE(batcher.NextBatch());
  EXPECT_EQ(Rejected(), 1u);
}

// Many submitters and instances at once, several shapes, a delay that only the fake clock ends: each request leaves once,
// no batch is too large or mixed.
TEST_F(BatcherTest, EachRequestLeavesOnceUnderConcurrency) {
  constexpr int kSubmitters = 4;
  constexpr int kEach = 500;
  Batcher batcher(Limits(8, milliseconds(1), {4}), {.max_requests = kSubmitters * kEach}, clock_, statistics_);
  std::atomic<int> answered = 0;
  const auto instance = [&] {
    while (std::optional<Batch> batch = batcher.NextBatch()) {
      ASSERT_LE(batch->rows, 8);
      for (const auto& request : batch->requests) {
        ASSERT_EQ(request->inputs[0].shape[1], batch->requests[0]->inputs[0].shape[1]);
        request->Complete(InferResponse());
        ++answered;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(instance);
  std::vector<std::thread> submitters;
  for (int s = 0; s < kSubmitters; ++s) {
    submitters.emplace_back([&, s] {
      std::mt19937 random(static_cast<unsigned>(s));
      for (int i = 0; i < kEach; ++i) {
        batcher.Submit(MakeRows(1 + random() % 4, 1 + random() % 3).request);
        if (random() % 16 == 0) clock_.AdvanceBy(milliseconds(1));
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  batcher.Close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, kSubmitters * kEach);
}

}  // namespace
}  // namespace ferry
