#include "ferry/batcher.h"

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "batching/expiry_timer.h"
#include "batching/server_budget.h"
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

QueueLimits AtMost(size_t requests) { return {.policy = {.max_requests = requests}}; }

class BatcherTest : public ::testing::Test {
 protected:
  std::future<std::optional<Batch>> NextBatchInThread(Batcher& batcher) {
    return std::async(std::launch::async, [&batcher] { return batcher.NextBatch(); });
  }

  uint64_t Counted(Failure failure) { return statistics_.Snapshot().failures[static_cast<int>(failure)]; }

  FakeClock clock_;
  ModelStatistics statistics_;
};

TEST_F(BatcherTest, GivesWhatWaitsAsOneBatch) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  for (int i = 0; i < 3; ++i) batcher.Submit(MakeRows(2, 4).request);
  EXPECT_EQ(batcher.PendingApprox(), 3u);
  const std::optional<Batch> batch = batcher.NextBatch();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->requests.size(), 3u);
  EXPECT_EQ(batch->rows, 6);
  EXPECT_EQ(batcher.PendingApprox(), 0u);
}

TEST_F(BatcherTest, AWaitingInstanceGetsALoneRequestAtOnce) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(next.get()->requests.size(), 1u);
}

TEST_F(BatcherTest, SendsAPartialBatchWhenItsOldestRequestReachesTheDelay) {
  Batcher batcher(Limits(8, milliseconds(5)), {}, {clock_, statistics_});
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
  Batcher batcher(Limits(8, milliseconds(5)), {}, {clock_, statistics_});
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Submit(MakeRows(1, 4).request);
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(5));
  clock_.AdvanceBy(milliseconds(5));
  EXPECT_EQ(next.get()->requests.size(), 1u);
}

TEST_F(BatcherTest, AFullBatchLeavesBeforeTheDelay) {
  Batcher batcher(Limits(2, milliseconds(5)), {}, {clock_, statistics_});
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Submit(MakeRows(1, 4).request);
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(next.get()->requests.size(), 2u);
}

// When one instance leaves with a full batch, its timer must not leave with it.
TEST_F(BatcherTest, ABusyInstanceTakesOnlyWhatCannotGrow) {
  Batcher batcher(Limits(4), {}, {clock_, statistics_});
  EXPECT_FALSE(batcher.TakeComplete());
  batcher.Submit(MakeRows(3, 4).request);
  EXPECT_FALSE(batcher.TakeComplete());
  batcher.Submit(MakeRows(2, 4).request);  // does not fit
  EXPECT_EQ(batcher.TakeComplete()->rows, 3);
  EXPECT_FALSE(batcher.TakeComplete());
  batcher.Submit(MakeRows(2, 4).request);
  EXPECT_EQ(batcher.TakeComplete()->rows, 4);
}

TEST_F(BatcherTest, ABusyInstanceDoesNotTakeWhatHasExpired) {
  Batcher batcher(Limits(2), {}, {clock_, statistics_});
  TestRequest late = MakeRows(1, 4);
  late.request->deadline = clock_.Now() + milliseconds(1);
  batcher.Submit(std::move(late.request));
  batcher.Submit(MakeRows(1, 4).request);
  clock_.AdvanceBy(milliseconds(1));
  EXPECT_FALSE(batcher.TakeComplete());
  batcher.Expire();
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(batcher.TakeComplete()->rows, 2);
}

TEST_F(BatcherTest, ARequestLeftBehindIsStillTimed) {
  Batcher batcher(Limits(2, milliseconds(5)), {}, {clock_, statistics_});
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
  Batcher batcher(Limits(2), {}, {clock_, statistics_});
  for (const int width : {4, 5, 4, 5}) batcher.Submit(MakeRows(1, width).request);
  for (const int width : {4, 5}) {
    const std::optional<Batch> batch = batcher.NextBatch();
    ASSERT_EQ(batch->requests.size(), 2u);
    for (const auto& request : batch->requests) EXPECT_EQ(request->inputs[0].shape[1], width);
  }
}

TEST_F(BatcherTest, AFullQueueRefusesAtOnceAndCounts) {
  Batcher batcher(Limits(8), AtMost(2), {clock_, statistics_});
  batcher.Submit(MakeRows(1, 4).request);
  batcher.Submit(MakeRows(1, 4).request);
  TestRequest third = MakeRows(1, 4);
  batcher.Submit(std::move(third.request));
  EXPECT_THAT(third.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("Exceeds maximum queue size")));
  EXPECT_EQ(batcher.PendingApprox(), 2u);
  EXPECT_EQ(Counted(Failure::kQueueFull), 1u);
}

TEST_F(BatcherTest, BytesAreBoundedToo) {
  Batcher batcher(Limits(8), QueueLimits{.max_bytes = 40}, {clock_, statistics_});
  batcher.Submit(MakeRows(2, 4).request);
  TestRequest second = MakeRows(1, 4);
  batcher.Submit(std::move(second.request));
  EXPECT_THAT(second.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("32 bytes wait, 16 more")));
  batcher.NextBatch();
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(batcher.PendingApprox(), 1u);
}

TEST_F(BatcherTest, AfterCloseWhatWaitsLeavesWithoutDelayAndThenNothing) {
  Batcher batcher(Limits(8, milliseconds(5)), {}, {clock_, statistics_});
  batcher.Submit(MakeRows(1, 4).request);
  batcher.Close();
  EXPECT_EQ(batcher.NextBatch()->requests.size(), 1u);
  EXPECT_FALSE(batcher.NextBatch());
}

TEST_F(BatcherTest, HurryEndsTheWaitForCompanionsAndGoesOnAccepting) {
  Batcher batcher(Limits(8, milliseconds(5)), {}, {clock_, statistics_});
  batcher.Submit(MakeRows(1, 4).request);
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(5));
  batcher.Hurry();
  EXPECT_EQ(next.get()->requests.size(), 1u);
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(batcher.NextBatch()->requests.size(), 1u);
}

TEST_F(BatcherTest, CloseWakesWaitingInstances) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  batcher.Close();
  EXPECT_FALSE(next.get());
}

TEST_F(BatcherTest, AClosedBatcherRefuses) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  batcher.Close();
  TestRequest late = MakeRows(1, 4);
  batcher.Submit(std::move(late.request));
  EXPECT_THAT(late.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("being stopped")));
}

TEST_F(BatcherTest, AbortAnswersWhatWaits) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  TestRequest waiting = MakeRows(1, 4);
  batcher.Submit(std::move(waiting.request));
  batcher.Abort(UnavailableError("shutting down"));
  EXPECT_THAT(waiting.answer.get(), HasStatus(StatusCode::kUnavailable, "shutting down"));
  EXPECT_FALSE(batcher.NextBatch());
  EXPECT_EQ(Counted(Failure::kStopping), 1u);
}

// Expiry, cancels and the server's budget

TEST_F(BatcherTest, TheTimerAnswersATimeoutWhileEveryInstanceIsBusy) {
  ExpiryTimer timer(clock_);
  Batcher batcher(Limits(8), {.policy = {.timeout = milliseconds(50)}}, {clock_, statistics_, &timer});
  TestRequest waiting = MakeRows(1, 4);
  batcher.Submit(std::move(waiting.request));
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(50));
  clock_.AdvanceBy(milliseconds(50));
  EXPECT_THAT(waiting.answer.get(), HasStatus(StatusCode::kUnavailable, "Request timeout expired"));
  EXPECT_EQ(batcher.PendingApprox(), 0u);
  EXPECT_EQ(Counted(Failure::kTimeout), 1u);
}

TEST_F(BatcherTest, TheTimerLearnsOfAnEarlierExpiry) {
  ExpiryTimer timer(clock_);
  Batcher batcher(Limits(8), {.policy = {.timeout = milliseconds(50)}}, {clock_, statistics_, &timer});
  TestRequest first = MakeRows(1, 4);
  TestRequest second = MakeRows(1, 4);
  second.request->deadline = clock_.Now() + milliseconds(10);
  batcher.Submit(std::move(first.request));
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(50));
  batcher.Submit(std::move(second.request));
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(10));
  clock_.AdvanceBy(milliseconds(10));
  EXPECT_THAT(second.answer.get(), HasStatus(StatusCode::kDeadlineExceeded, HasSubstr("deadline")));
  EXPECT_EQ(Counted(Failure::kDeadline), 1u);
  clock_.BlockUntilSomeoneWaitsFor(clock_.Now() + milliseconds(40));
  clock_.AdvanceBy(milliseconds(40));
  EXPECT_THAT(first.answer.get(), HasStatus(StatusCode::kUnavailable, "Request timeout expired"));
}

TEST_F(BatcherTest, WhatIsPastItsDeadlineNeverRuns) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  TestRequest late = MakeRows(1, 4);
  late.request->deadline = clock_.Now() + milliseconds(10);
  batcher.Submit(std::move(late.request));
  TestRequest good = MakeRows(1, 4);
  batcher.Submit(std::move(good.request));
  clock_.AdvanceBy(milliseconds(10));
  EXPECT_EQ(batcher.NextBatch()->requests.size(), 1u);
  EXPECT_THAT(late.answer.get(), HasStatus(StatusCode::kDeadlineExceeded, HasSubstr("deadline")));
}

TEST_F(BatcherTest, ACancelledRequestThatWaitsNeverRuns) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  TestRequest given_up = MakeRows(1, 4);
  given_up.request->ticket = 7;
  batcher.Submit(std::move(given_up.request));
  batcher.Cancel(7);
  EXPECT_THAT(given_up.answer.get(), HasStatus(StatusCode::kCancelled, HasSubstr("gave")));
  EXPECT_EQ(batcher.PendingApprox(), 0u);
  EXPECT_EQ(Counted(Failure::kCancelled), 1u);
  batcher.Cancel(7);
  EXPECT_EQ(Counted(Failure::kCancelled), 1u);
}

TEST_F(BatcherTest, ACancelAtTheDeadlineCountsAsThat) {
  Batcher batcher(Limits(8), {}, {clock_, statistics_});
  TestRequest given_up = MakeRows(1, 4);
  given_up.request->ticket = 7;
  given_up.request->deadline = clock_.Now() + milliseconds(5);
  batcher.Submit(std::move(given_up.request));
  batcher.Cancel(7);
  EXPECT_EQ(Counted(Failure::kDeadline), 1u);
}

TEST_F(BatcherTest, AnInstanceLooksAgainAfterACancel) {
  Batcher batcher(Limits(4, milliseconds(5)), {}, {clock_, statistics_});
  auto next = NextBatchInThread(batcher);
  clock_.BlockUntilSomeoneWaitsFor(kNever);
  TestRequest oldest = MakeRows(1, 4);
  oldest.request->ticket = 7;
  const TimePoint start = clock_.Now();
  batcher.Submit(std::move(oldest.request));
  clock_.AdvanceBy(milliseconds(1));
  batcher.Submit(MakeRows(1, 4).request);
  batcher.Cancel(7);
  clock_.AdvanceBy(milliseconds(4));  // the cancelled request's delay
  clock_.BlockUntilSomeoneWaitsFor(start + milliseconds(6));
  clock_.AdvanceBy(milliseconds(1));
  EXPECT_EQ(next.get()->requests.size(), 1u);
}

TEST_F(BatcherTest, EachLevelHasABoundOfItsOwn) {
  QueueLimits limits{.levels = 2, .default_level = 2, .policy = {.max_requests = 10}};
  limits.level_policies[1].max_requests = 1;
  Batcher batcher(Limits(8), limits, {clock_, statistics_});
  std::vector<TestRequest> urgent;
  for (int i = 0; i < 2; ++i) {
    urgent.push_back(MakeRows(1, 4));
    urgent.back().request->priority = 1;
    batcher.Submit(std::move(urgent.back().request));
  }
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_THAT(urgent[1].answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("1 requests wait")));
  EXPECT_EQ(batcher.PendingApprox(), 2u);
}

TEST_F(BatcherTest, TheServerHasABoundOverAllModels) {
  ServerBudget budget({.max_requests = 2, .max_bytes = 100});
  ModelStatistics other_statistics;
  Batcher batcher(Limits(8), {}, {clock_, statistics_, nullptr, &budget});
  Batcher other(Limits(8), {}, {clock_, other_statistics, nullptr, &budget});
  batcher.Submit(MakeRows(1, 4).request);
  other.Submit(MakeRows(1, 4).request);
  TestRequest third = MakeRows(1, 4);
  batcher.Submit(std::move(third.request));
  EXPECT_THAT(third.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("of the server")));
  EXPECT_EQ(Counted(Failure::kServerFull), 1u);
  other.NextBatch();
  batcher.Submit(MakeRows(1, 4).request);
  EXPECT_EQ(batcher.PendingApprox(), 2u);
}

TEST_F(BatcherTest, WhateverLeavesGivesTheServersBudgetBack) {
  ServerBudget budget({.max_requests = 3, .max_bytes = 1000});
  for (int round = 0; round < 4; ++round) {
    Batcher batcher(Limits(1), {.policy = {.timeout = milliseconds(1)}}, {clock_, statistics_, nullptr, &budget});
    std::vector<TestRequest> made;
    for (uint64_t ticket = 1; ticket <= 3; ++ticket) {
      made.push_back(MakeRows(1, 4));
      made.back().request->ticket = ticket;
      batcher.Submit(std::move(made.back().request));
    }
    EXPECT_EQ(batcher.PendingApprox(), 3u);
    batcher.Cancel(1);
    batcher.NextBatch();
    clock_.AdvanceBy(milliseconds(1));
    batcher.Expire();
    EXPECT_EQ(batcher.PendingApprox(), 0u);
  }
}

TEST_F(BatcherTest, CountsWhyEachBatchLeft) {
  Batcher batcher(Limits(4, milliseconds(5), {3}), {}, {clock_, statistics_});
  const auto next = [&](std::vector<int64_t> rows, Duration wait) {
    for (const int64_t each : rows) batcher.Submit(MakeRows(each, 4).request);
    clock_.AdvanceBy(wait);
    batcher.NextBatch();
  };
  next({2, 2}, Duration::zero());  // full
  next({2, 1}, Duration::zero());  // preferred
  next({1}, milliseconds(5));      // delay
  next({2, 4}, Duration::zero());  // cannot grow
  next({}, Duration::zero());      // full: the 4 that were left
  const StatisticsSnapshot counts = statistics_.Snapshot();
  EXPECT_THAT(counts.dispatches, ::testing::ElementsAre(2, 1, 1, 1, 0));
}

// Many submitters and instances at once, several shapes, a delay that only the fake clock ends: each request leaves once,
// no batch is too large or mixed.
TEST_F(BatcherTest, EachRequestLeavesOnceUnderConcurrency) {
  constexpr int kSubmitters = 4;
  constexpr int kEach = 500;
  Batcher batcher(Limits(8, milliseconds(1), {4}), AtMost(kSubmitters * kEach), {clock_, statistics_});
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
