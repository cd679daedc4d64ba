#include "loadgen/latency_histogram.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ferry {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

LatencyHistogram Of(const std::vector<int64_t>& values) {
  LatencyHistogram histogram;
  for (const int64_t value : values) histogram.Record(nanoseconds(value));
  return histogram;
}

TEST(LatencyHistogramTest, AnEmptyOneHasNothingToSay) {
  const LatencyHistogram empty;
  EXPECT_EQ(empty.Quantile(0.99), Duration::zero());
  EXPECT_EQ(empty.min(), Duration::zero());
  EXPECT_EQ(empty.MeanNanoseconds(), 0);
  EXPECT_THAT(empty.Buckets(), ::testing::IsEmpty());
}

TEST(LatencyHistogramTest, QuantilesAreNearestRanks) {
  const LatencyHistogram histogram = Of({10, 20, 30, 40});
  EXPECT_EQ(histogram.Quantile(0), nanoseconds(10));
  EXPECT_EQ(histogram.Quantile(0.5), nanoseconds(20));
  EXPECT_EQ(histogram.Quantile(0.51), nanoseconds(30));
  EXPECT_EQ(histogram.Quantile(1), nanoseconds(40));
  EXPECT_EQ(histogram.MeanNanoseconds(), 25);
}

// The oracle is a sort of all values.
TEST(LatencyHistogramTest, AMillionValuesAgreeWithASortToATenthOfAPercent) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(14, 1.5);  // around a millisecond, with a long tail
  std::vector<int64_t> values(1'000'000);
  for (int64_t& value : values) value = static_cast<int64_t>(latency(random));
  const LatencyHistogram histogram = Of(values);
  std::ranges::sort(values);
  for (const double q : {0.0001, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(q * 1e6));
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(q).count()), exact, exact * 0.001) << q;
  }
  EXPECT_EQ(histogram.min().count(), values.front());
  EXPECT_EQ(histogram.max().count(), values.back());
}

TEST(LatencyHistogramTest, ThreeDigitsHoldFromNanosecondsToDays) {
  for (int64_t value = 1; value < nanoseconds(hours(100)).count(); value += value / 3 + 1) {
    LatencyHistogram histogram = Of({value});
    histogram.Record(hours(1000));
    const auto seen = static_cast<double>(histogram.Quantile(0.5).count());
    EXPECT_NEAR(seen, static_cast<double>(value), static_cast<double>(value) * 0.001);
  }
}

TEST(LatencyHistogramTest, MergingIsRecordingEverythingInOne) {
  LatencyHistogram one = Of({1, 5000, 70000});
  const LatencyHistogram other = Of({3, 900'000'000});
  const LatencyHistogram all = Of({1, 5000, 70000, 3, 900'000'000});
  one.Merge(other);
  EXPECT_EQ(one.count(), 5u);
  EXPECT_EQ(one.MeanNanoseconds(), all.MeanNanoseconds());
  for (const double q : {0.2, 0.4, 0.6, 0.8, 1.0}) EXPECT_EQ(one.Quantile(q), all.Quantile(q));
}

TEST(LatencyHistogramTest, CountsWhatIsAboveALimit) {
  const LatencyHistogram histogram = Of({100, 200, 300});
  EXPECT_EQ(histogram.CountAbove(nanoseconds(200)), 1u);
  EXPECT_EQ(histogram.CountAbove(nanoseconds(99)), 3u);
  EXPECT_EQ(histogram.CountAbove(nanoseconds(-1)), 3u);
  EXPECT_EQ(histogram.CountAbove(hours(1)), 0u);
}

TEST(LatencyHistogramTest, BucketsTellAllThatWasRecorded) {
  const LatencyHistogram histogram = Of({5, 5, 1'000'000});
  const auto buckets = histogram.Buckets();
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].upper, nanoseconds(5));
  EXPECT_EQ(buckets[0].count, 2u);
  EXPECT_EQ(buckets[1].upper, nanoseconds(1'000'000));
}

TEST(LatencyHistogramTest, NegativeAndAbsurdValuesHaveAPlace) {
  LatencyHistogram histogram;
  histogram.Record(microseconds(-5));
  histogram.Record(Duration::max());
  EXPECT_EQ(histogram.min(), Duration::zero());
  EXPECT_EQ(histogram.Quantile(1), Duration::max());
}

}  // namespace
}  // namespace ferry
