#include "ferry/statistics.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ferry {
namespace {

using std::chrono::microseconds;

constexpr TimePoint At(int us) { return TimePoint(microseconds(us)); }

// Two requests of one batch: taken at 100 µs, in the buffer at 110, computed at 150, cut at 152.
constexpr BatchTimes kTimes{At(100), At(110), At(150), At(152)};
const std::vector<RequestTimes> kTwo = {{At(10), At(20)}, {At(50), At(60)}};

TEST(ModelStatisticsTest, EachRequestIsChargedTheWholeBatch) {
  ModelStatistics statistics;
  statistics.RecordBatch({5, 10, 3}, kTimes, kTwo);
  const StatisticsSnapshot counts = statistics.Snapshot();
  EXPECT_EQ(counts.success.count, 2u);
  EXPECT_EQ(counts.success.total, microseconds(142 + 102));
  EXPECT_EQ(counts.queue.total, microseconds(80 + 40));
  EXPECT_EQ(counts.compute_input.total, microseconds(2 * 10));
  EXPECT_EQ(counts.compute_infer.total, microseconds(2 * 40));
  EXPECT_EQ(counts.compute_output.total, microseconds(2 * 2));
  EXPECT_EQ(counts.inference_count, 5u);
  EXPECT_EQ(counts.execution_count, 1u);
  EXPECT_EQ(counts.elements, 10u);
  EXPECT_EQ(counts.padding, 3u);
}

TEST(ModelStatisticsTest, EachBatchSizeIsCountedOncePerExecution) {
  ModelStatistics statistics;
  statistics.RecordBatch({5, 10, 3}, kTimes, kTwo);
  statistics.RecordBatch({5, 10, 3}, kTimes, kTwo);
  statistics.RecordBatch({2, 10, 3}, kTimes, kTwo);
  const StatisticsSnapshot counts = statistics.Snapshot();
  ASSERT_EQ(counts.batches.size(), 2u);
  EXPECT_EQ(counts.batches.at(5).compute_infer.count, 2u);
  EXPECT_EQ(counts.batches.at(5).compute_infer.total, microseconds(80));
  EXPECT_EQ(counts.batches.at(2).compute_infer.count, 1u);
}

TEST(ModelStatisticsTest, FailuresAreCountedByReason) {
  ModelStatistics statistics;
  statistics.RecordFailure(Failure::kQueueFull, microseconds(3));
  statistics.RecordFailure(Failure::kModel, microseconds(4));
  statistics.RecordFailure(Failure::kModel, microseconds(5));
  const StatisticsSnapshot counts = statistics.Snapshot();
  EXPECT_EQ(counts.fail.count, 3u);
  EXPECT_EQ(counts.fail.total, microseconds(12));
  EXPECT_EQ(counts.failures[static_cast<int>(Failure::kQueueFull)], 1u);
  EXPECT_EQ(counts.failures[static_cast<int>(Failure::kModel)], 2u);
}

TEST(ModelStatisticsTest, QueueTimesFallIntoTheirBuckets) {
  ModelStatistics statistics;
  // Waited 80 and 40 µs, and then exactly the first bound, 100 µs, and one more.
  statistics.RecordBatch({2, 10, 3}, kTimes, kTwo);
  statistics.RecordBatch({2, 10, 3}, {At(120), At(120), At(120), At(120)},
                         std::vector<RequestTimes>{{At(20), At(20)}, {At(19), At(19)}});
  const StatisticsSnapshot counts = statistics.Snapshot();
  EXPECT_EQ(counts.queue_times[0], 3u);
  EXPECT_EQ(counts.queue_times[1], 1u);
}

TEST(ModelStatisticsTest, EachFailureHasOneOfTritonsReasons) {
  EXPECT_EQ(ReasonOf(Failure::kBadRequest), FailureReason::kRejected);
  EXPECT_EQ(ReasonOf(Failure::kTimeout), FailureReason::kRejected);
  EXPECT_EQ(ReasonOf(Failure::kDeadline), FailureReason::kCanceled);
  EXPECT_EQ(ReasonOf(Failure::kCancelled), FailureReason::kCanceled);
  EXPECT_EQ(ReasonOf(Failure::kModel), FailureReason::kBackend);
}

TEST(ModelStatisticsTest, ASnapshotNeverShowsHalfABatch) {
  ModelStatistics statistics;
  std::thread writer([&] {
    for (int i = 0; i < 2000; ++i) statistics.RecordBatch({5, 10, 3}, kTimes, kTwo);
  });
  for (int i = 0; i < 200; ++i) {
    const StatisticsSnapshot counts = statistics.Snapshot();
    EXPECT_EQ(counts.compute_input.count, counts.compute_output.count);
    EXPECT_EQ(counts.success.count, 2 * counts.execution_count);
  }
  writer.join();
}

}  // namespace
}  // namespace ferry
