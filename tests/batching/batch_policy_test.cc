#include "batching/batch_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>

namespace ferry {
namespace {

using std::chrono::microseconds;
using Rows = std::vector<int64_t>;
using Action = Decision::Action;
using enum DispatchReason;

constexpr TimePoint At(int us) { return TimePoint(microseconds(1'000'000 + us)); }
constexpr Decision Take(size_t bucket, size_t requests, DispatchReason reason) {
  return {Action::kTake, bucket, requests, reason, kNever};
}
constexpr Decision WaitUntil(int us) { return {Action::kWait, 0, 0, kIdle, At(us)}; }

BatchLimits Limits(int64_t max_rows, int delay_us = 0, Rows preferred = {}) {
  return {max_rows, true, std::move(preferred), microseconds(delay_us)};
}

// Decides about buckets given as (when the oldest came, rows from the head).
struct Bucket {
  int oldest_us;
  Rows rows;
  uint64_t level = 1;
  bool delayed = false;
};
Decision DecideAt(int now_us, const BatchLimits& limits, const std::vector<Bucket>& buckets) {
  std::vector<BucketView> views;
  for (const Bucket& bucket : buckets) {
    views.push_back({bucket.level, bucket.delayed, At(bucket.oldest_us), At(bucket.oldest_us), bucket.rows});
  }
  return Decide(limits, views, At(now_us));
}

TEST(DecideTest, IsIdleWhenNothingWaits) { EXPECT_EQ(DecideAt(0, Limits(8), {}), Decision()); }

TEST(DecideTest, WithoutDelayALoneRequestLeavesAtOnce) {
  EXPECT_EQ(DecideAt(0, Limits(8), {{0, {1}}}), Take(0, 1, kIdle));
}

TEST(DecideTest, WithoutDelayAllThatFitsLeavesTogether) {
  EXPECT_EQ(DecideAt(0, Limits(8), {{0, {1, 2, 3}}}), Take(0, 3, kIdle));
  EXPECT_EQ(DecideAt(0, Limits(8), {{0, {3, 3, 3}}}), Take(0, 2, kCannotGrow));
}

TEST(DecideTest, RowsCountNotRequests) { EXPECT_EQ(DecideAt(0, Limits(8), {{0, {8, 1}}}), Take(0, 1, kFull)); }

TEST(DecideTest, APartialBatchWaitsUntilItsOldestHasWaitedTheDelay) {
  EXPECT_EQ(DecideAt(30, Limits(8, 100), {{10, {1, 1}}}), WaitUntil(110));
  EXPECT_EQ(DecideAt(109, Limits(8, 100), {{10, {1, 1}}}), WaitUntil(110));
  EXPECT_EQ(DecideAt(110, Limits(8, 100), {{10, {1, 1}}}), Take(0, 2, kDelay));
}

TEST(DecideTest, AFullBatchDoesNotWait) {
  EXPECT_EQ(DecideAt(0, Limits(4, 100), {{0, {1, 1, 1, 1}}}), Take(0, 4, kFull));
}

TEST(DecideTest, ABatchThatCannotGrowDoesNotWait) {
  EXPECT_EQ(DecideAt(0, Limits(4, 100), {{0, {3, 2}}}), Take(0, 1, kCannotGrow));
}

TEST(DecideTest, WithoutCombiningEachRequestLeavesAlone) {
  BatchLimits limits = Limits(8, 100);
  limits.combine = false;
  EXPECT_EQ(DecideAt(0, limits, {{0, {2}}}), Take(0, 1, kIdle));
}

TEST(DecideTest, AReachablePreferredSizeLeavesAtOnce) {
  EXPECT_EQ(DecideAt(0, Limits(8, 100, {4}), {{0, {1, 1, 2}}}), Take(0, 3, kPreferred));
}

TEST(DecideTest, TheLargestReachablePreferredSizeIsTaken) {
  EXPECT_EQ(DecideAt(0, Limits(8, 100, {2, 4}), {{0, {1, 1, 1, 1, 1}}}), Take(0, 4, kPreferred));
}

// triton-inference-server/server#8141
TEST(DecideTest, NoBatchIsLargerThanAReachablePreferredSize) {
  EXPECT_EQ(DecideAt(0, Limits(8, 100, {4}), {{0, {1, 1, 1, 1, 1}}}), Take(0, 4, kPreferred));
  EXPECT_EQ(DecideAt(0, Limits(8, 0, {4}), {{0, {1, 1, 1, 1, 1}}}), Take(0, 4, kPreferred));
}

TEST(DecideTest, AnUnreachablePreferredSizeIsWaitedForUntilTheDelay) {
  EXPECT_EQ(DecideAt(0, Limits(8, 100, {4}), {{0, {3, 2}}}), WaitUntil(100));
  EXPECT_EQ(DecideAt(100, Limits(8, 100, {4}), {{0, {3, 2}}}), Take(0, 2, kDelay));
}

TEST(DecideTest, AfterTheDelayPreferredSizesNoLongerBind) {
  EXPECT_EQ(DecideAt(100, Limits(8, 100, {4}), {{0, {1, 1, 1, 1, 1}}}), Take(0, 5, kDelay));
}

TEST(DecideTest, WithoutDelayAnUnreachablePreferredSizeIsNotWaitedFor) {
  EXPECT_EQ(DecideAt(0, Limits(8, 0, {4}), {{0, {1, 1}}}), Take(0, 2, kIdle));
}

TEST(DecideTest, OfTwoDueBucketsTheOlderGoesFirst) {
  EXPECT_EQ(DecideAt(50, Limits(8), {{20, {1}}, {10, {1}}}), Take(1, 1, kIdle));
}

TEST(DecideTest, AHigherLevelGoesBeforeAnOlderRequest) {
  EXPECT_EQ(DecideAt(50, Limits(8), {{10, {1}, 2}, {20, {1}, 1}}), Take(1, 1, kIdle));
}

TEST(DecideTest, WhatWasPutBehindGoesLastAtItsLevel) {
  EXPECT_EQ(DecideAt(50, Limits(8), {{10, {1}, 1, true}, {20, {1}, 1}, {5, {1}, 2}}), Take(1, 1, kIdle));
  EXPECT_EQ(DecideAt(50, Limits(8), {{10, {1}, 1, true}, {5, {1}, 2}}), Take(0, 1, kIdle));
}

TEST(DecideTest, AHeldBucketDoesNotHoldUpAFullOne) {
  EXPECT_EQ(DecideAt(20, Limits(2, 100), {{0, {1}}, {10, {1, 1}}}), Take(1, 2, kFull));
}

TEST(DecideTest, WaitsForTheEarliestOfTheHeldBuckets) {
  EXPECT_EQ(DecideAt(20, Limits(2, 100), {{15, {1}}, {10, {1}}}), WaitUntil(110));
}

// Random queues: what every decision must keep to, whatever waits.
TEST(DecideTest, KeepsItsRulesOnRandomQueues) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 20'000; ++round) {
    const int64_t max_rows = 1 + below(12);
    Rows preferred;
    for (int64_t size = 1; size <= max_rows; ++size) {
      if (below(6) == 0) preferred.push_back(size);
    }
    const int delay = below(2) * (1 + below(100));
    const BatchLimits limits = Limits(max_rows, delay, preferred);
    std::vector<Bucket> buckets(static_cast<size_t>(below(4)));
    for (Bucket& bucket : buckets) {
      bucket.oldest_us = below(100);
      bucket.level = 1 + static_cast<uint64_t>(below(3));
      bucket.delayed = below(4) == 0;
      for (int i = 0; i <= below(10); ++i) bucket.rows.push_back(1 + below(static_cast<int>(max_rows)));
    }
    const int now = 100 + below(50);
    const Decision decision = DecideAt(now, limits, buckets);
    const auto waited = [&](const Bucket& bucket) { return now - bucket.oldest_us >= delay; };
    if (decision.action == Action::kTake) {
      const Bucket& taken = buckets[decision.bucket];
      ASSERT_GE(decision.requests, 1u);
      ASSERT_LE(decision.requests, taken.rows.size());
      const int64_t rows =
          std::accumulate(taken.rows.begin(), taken.rows.begin() + static_cast<long>(decision.requests), int64_t{0});
      ASSERT_LE(rows, max_rows);
      // Nothing that goes first is due.
      for (const Bucket& bucket : buckets) {
        const auto rank = [](const Bucket& b) { return std::tuple(b.level, b.delayed, b.oldest_us); };
        ASSERT_FALSE(waited(bucket) && rank(bucket) < rank(taken));
      }
    } else {
      // No instance is left idle while something is due.
      for (const Bucket& bucket : buckets) ASSERT_FALSE(waited(bucket));
      ASSERT_EQ(decision.action, buckets.empty() ? Action::kIdle : Action::kWait);
      if (!buckets.empty()) {
        ASSERT_GT(decision.until, At(now));
      }
    }
  }
}

}  // namespace
}  // namespace ferry
