#include "loadgen/quantile_statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace ferry {
namespace {

using std::chrono::microseconds;

TEST(SamplesNeededTest, AgreesWithTheTableOfEarlyStopping) {
  const std::vector<uint64_t> misses{0, 1, 2, 5, 10};
  const auto needed = [&](double q) {
    std::vector<uint64_t> counts;
    for (const uint64_t t : misses) counts.push_back(SamplesNeeded(q, t));
    return counts;
  };
  EXPECT_THAT(needed(0.9), ::testing::ElementsAre(44, 64, 81, 127, 197));
  EXPECT_THAT(needed(0.95), ::testing::ElementsAre(90, 130, 165, 259, 398));
  EXPECT_THAT(needed(0.99), ::testing::ElementsAre(459, 662, 838, 1307, 2010));
  EXPECT_THAT(needed(0.999), ::testing::ElementsAre(4603, 6636, 8403, 13105, 20140));
}

TEST(JudgeQuantileTest, PassesFromTheCountThatIsNeededOn) {
  for (const uint64_t misses : {0, 1, 2, 5, 10}) {
    const uint64_t needed = SamplesNeeded(0.99, misses);
    EXPECT_EQ(JudgeQuantile(needed, misses, 0.99), Judgement::kPass);
    EXPECT_EQ(JudgeQuantile(needed - 1, misses, 0.99), Judgement::kUndecided);
  }
}

TEST(JudgeQuantileTest, FailsWhereThatManyCouldHardlyBeOver) {
  EXPECT_EQ(JudgeQuantile(1000, 10, 0.99), Judgement::kUndecided);
  EXPECT_EQ(JudgeQuantile(1000, 19, 0.99), Judgement::kFail);
  EXPECT_EQ(JudgeQuantile(2, 2, 0.99), Judgement::kFail);
  EXPECT_EQ(JudgeQuantile(2, 2, 0.9, 0.999), Judgement::kUndecided);
  EXPECT_EQ(JudgeQuantile(0, 0, 0.99), Judgement::kUndecided);
  EXPECT_EQ(JudgeQuantile(100'000'000, 900'000, 0.99), Judgement::kPass);
  EXPECT_EQ(JudgeQuantile(100'000'000, 1'100'000, 0.99), Judgement::kFail);
}

// A server that is exactly at the limit is judged either way no more often than the confidence allows: 1 in 100 each.
TEST(JudgeQuantileTest, ErrsNoMoreOftenThanTheConfidenceAllows) {
  std::mt19937_64 random(11);
  std::binomial_distribution<uint64_t> over(5000, 0.01);
  constexpr int kTrials = 20'000;
  int passed = 0;
  int failed = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Judgement judgement = JudgeQuantile(5000, over(random), 0.99);
    passed += judgement == Judgement::kPass ? 1 : 0;
    failed += judgement == Judgement::kFail ? 1 : 0;
  }
  EXPECT_LT(passed, kTrials * 0.012);
  EXPECT_LT(failed, kTrials * 0.012);
  EXPECT_GT(passed + failed, kTrials * 0.01);
}

TEST(QuantileIntervalTest, SaysNothingOfTooFew) {
  LatencyHistogram latencies;
  EXPECT_FALSE(QuantileInterval(latencies, 0.5, 0.95));
  latencies.Record(microseconds(5), 367);
  EXPECT_FALSE(QuantileInterval(latencies, 0.99, 0.95));
  latencies.Record(microseconds(5));
  EXPECT_TRUE(QuantileInterval(latencies, 0.99, 0.95));
}

TEST(QuantileIntervalTest, IsMadeOfTheRanksOfTheTables) {
  LatencyHistogram latencies;
  for (int i = 1; i <= 100; ++i) latencies.Record(microseconds(i));
  const auto interval = QuantileInterval(latencies, 0.5, 0.95);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(std::chrono::duration<double>(interval->low).count(), 40e-6, 1e-7);
  EXPECT_NEAR(std::chrono::duration<double>(interval->high).count(), 61e-6, 1e-7);
}

// The true quantile is inside of 95 of 100 intervals at least, and not of all.
TEST(QuantileIntervalTest, CoversTheTruthAsOftenAsItPromises) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> latency(1.0);
  for (const double q : {0.5, 0.9, 0.99}) {
    const Duration truth(static_cast<int64_t>(-std::log(1 - q) * 1e6));
    int covered = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      LatencyHistogram latencies;
      for (int i = 0; i < 1000; ++i) latencies.Record(Duration(static_cast<int64_t>(latency(random) * 1e6)));
      const auto interval = QuantileInterval(latencies, q, 0.95);
      ASSERT_TRUE(interval);
      covered += interval->low <= truth && truth <= interval->high ? 1 : 0;
    }
    EXPECT_GT(covered, 2000 * 0.94) << q;
    EXPECT_LT(covered, 2000 * 0.985) << q;
  }
}

using Series = std::function<double(int second)>;

// The share of 2,000 series of `length` values with this noise that are called anything but steady.
double ShareWithTrend(int length, double noise, double correlation, const Series& mean) {
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  int found = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    double state = normal(random);
    for (int i = 0; i < length; ++i) {
      state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
      values.push_back(mean(i) * (1 + noise * state));
    }
    found += TrendOf(values).kind != Trend::Kind::kSteady ? 1 : 0;
  }
  return static_cast<double>(found) / kTrials;
}

double Flat(int) { return 1000; }

TEST(TrendOfTest, SaysNothingOfASeriesTooShort) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(TrendOf(values).kind, Trend::Kind::kTooShort);
}

TEST(TrendOfTest, TellsUpFromDownAndByHowMuch) {
  std::vector<double> values;
  for (int i = 0; i <= 20; ++i) values.push_back(90 + i);
  const Trend rising = TrendOf(values);
  EXPECT_EQ(rising.kind, Trend::Kind::kRising);
  EXPECT_NEAR(rising.drift, 0.2, 1e-9);
  EXPECT_LT(rising.p_value, 1e-6);
  const Trend falling = TrendOf(std::vector<double>(values.rbegin(), values.rend()));
  EXPECT_EQ(falling.kind, Trend::Kind::kFalling);
  EXPECT_NEAR(falling.drift, -0.2, 1e-9);
}

TEST(TrendOfTest, EqualValuesAreSteady) {
  EXPECT_EQ(TrendOf(std::vector<double>(30, 5.0)).kind, Trend::Kind::kSteady);
  EXPECT_EQ(TrendOf(std::vector<double>(30, 0.0)).kind, Trend::Kind::kSteady);
}

TEST(TrendOfTest, ADriftTooSmallToMatterIsSteady) {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.push_back(1000 + i * 0.5);
  const Trend trend = TrendOf(values);
  EXPECT_LT(trend.p_value, 1e-6);
  EXPECT_EQ(trend.kind, Trend::Kind::kSteady);
}

TEST(TrendOfTest, ABacklogFromNothingRises) {
  std::vector<double> values(10, 0.0);
  for (int i = 0; i < 20; ++i) values.push_back(i);
  EXPECT_EQ(TrendOf(values).kind, Trend::Kind::kRising);
}

TEST(TrendOfTest, OneOutlierIsNoTrend) {
  std::vector<double> values(30, 10.0);
  for (size_t i = 0; i < values.size(); ++i) values[i] += static_cast<double>((i * 7) % 5) * 0.1;
  values.back() = 10'000;
  EXPECT_EQ(TrendOf(values).kind, Trend::Kind::kSteady);
}

TEST(TrendOfTest, ALongSeriesIsAveragedFirst) {
  std::vector<double> values;
  for (int i = 0; i < 5000; ++i) values.push_back(1000 + i * 0.1);
  const Trend trend = TrendOf(values);
  EXPECT_EQ(trend.kind, Trend::Kind::kRising);
  EXPECT_NEAR(trend.drift, 0.4, 0.01);
}

// Measured: 0.0 to 0.8 %, where 1 % is asked for.
TEST(TrendOfTest, NoisySteadySeriesSeldomHaveATrend) {
  for (const int length : {8, 10, 30, 60}) {
    for (const double noise : {0.03, 0.3}) EXPECT_LT(ShareWithTrend(length, noise, 0, Flat), 0.015) << length;
  }
}

// Measured: 2.4, 4.6 and 2.2 %. A strong memory cannot be told from a trend in a short series.
TEST(TrendOfTest, SteadySeriesWithAMemorySeldomHaveATrend) {
  EXPECT_LT(ShareWithTrend(30, 0.2, 0.3, Flat), 0.03);
  EXPECT_LT(ShareWithTrend(30, 0.2, 0.6, Flat), 0.06);
  EXPECT_LT(ShareWithTrend(60, 0.2, 0.6, Flat), 0.03);
}

// Missed, measured: 0.0, 0.3, 0.0, 14 and 3 %.
TEST(TrendOfTest, WarmUpsAndBacklogsAreRecognised) {
  const auto warming = [](int i) { return 1000 * (1 - 0.3 * std::exp(-i / 8.0)); };  // throughput
  const auto backlog = [](int i) { return 10.0 + i; };                               // latency
  const auto slow_backlog = [](int i) { return 10.0 * (1 + 0.02 * i); };             // by 60 % within 30 s
  EXPECT_GT(ShareWithTrend(30, 0.03, 0, warming), 0.99);
  EXPECT_GT(ShareWithTrend(60, 0.03, 0, warming), 0.99);
  EXPECT_GT(ShareWithTrend(30, 0.10, 0, backlog), 0.99);
  EXPECT_GT(ShareWithTrend(10, 0.10, 0, backlog), 0.8);
  EXPECT_GT(ShareWithTrend(30, 0.10, 0.3, slow_backlog), 0.95);
}

// 19 of 20 intervals of the drift hold the true one.
TEST(TrendOfTest, TheIntervalOfTheDriftHoldsIt) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 5);
  int held = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> values;
    for (int i = 0; i <= 30; ++i) values.push_back(85 + i + noise(random));
    const Trend trend = TrendOf(values);
    held += trend.drift_low <= 0.3 && 0.3 <= trend.drift_high ? 1 : 0;
  }
  EXPECT_GT(held, 2000 * 0.93);
}

}  // namespace
}  // namespace ferry
