#include "loadgen/quantile_statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "ferry/check.h"

namespace ferry {

namespace {

using Binomial = boost::math::binomial_distribution<double>;

// P(Bin(trials, chance) <= successes)
double AtMost(uint64_t successes, uint64_t trials, double chance) {
  if (successes >= trials) return 1;
  return cdf(Binomial(static_cast<double>(trials), chance), static_cast<double>(successes));
}

// P(Bin(trials, chance) > successes), exact where it is tiny.
double MoreThan(uint64_t successes, uint64_t trials, double chance) {
  if (successes >= trials) return 0;
  return cdf(complement(Binomial(static_cast<double>(trials), chance), static_cast<double>(successes)));
}

// The first number from `begin` on for which the predicate no longer holds, as it does not from there on; `end` if
// none.
template <typename Predicate>
uint64_t FirstWithout(uint64_t begin, uint64_t end, Predicate holds) {
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

void CheckShares(double q, double confidence) {
  FERRY_CHECK(q > 0 && q < 1, "a quantile is between 0 and 1");
  FERRY_CHECK(confidence > 0 && confidence < 1, "a confidence is between 0 and 1");
}

}  // namespace

// With n values, as many as Bin(n, q) are at or below the quantile: the value of rank r is above it when fewer than r
// are.
std::optional<Interval> QuantileInterval(const LatencyHistogram& latencies, double q, double confidence) {
  CheckShares(q, confidence);
  const uint64_t n = latencies.count();
  const double tail = (1 - confidence) / 2;
  const uint64_t low = FirstWithout(0, n, [&](uint64_t k) { return AtMost(k, n, q) <= tail; });
  const uint64_t high = FirstWithout(0, n, [&](uint64_t k) { return MoreThan(k, n, q) > tail; }) + 1;
  if (low < 1 || high > n) return std::nullopt;
  return Interval{latencies.ValueAtRank(low), latencies.ValueAtRank(high)};
}

uint64_t SamplesNeeded(double q, uint64_t misses, double confidence) {
  CheckShares(q, confidence);
  const auto too_few = [&](uint64_t n) { return AtMost(misses, n, 1 - q) > 1 - confidence; };
  uint64_t enough = misses + 1;
  while (too_few(enough)) enough *= 2;
  return FirstWithout(enough / 2, enough, too_few);
}

Judgement JudgeQuantile(uint64_t count, uint64_t over, double q, double confidence) {
  CheckShares(q, confidence);
  FERRY_CHECK(over <= count, "no more requests are over the bound than there were");
  if (AtMost(over, count, 1 - q) <= 1 - confidence) return Judgement::kPass;
  if (over > 0 && MoreThan(over - 1, count, 1 - q) <= 1 - confidence) return Judgement::kFail;
  return Judgement::kUndecided;
}

namespace {

constexpr size_t kFewestValues = 8;
constexpr size_t kMostValues = 512;  // there is a slope for each pair

std::vector<double> Thinned(std::span<const double> values) {
  const size_t group = (values.size() + kMostValues - 1) / kMostValues;
  if (group <= 1) return {values.begin(), values.end()};
  std::vector<double> means;
  for (size_t i = 0; i + group <= values.size(); i += group) {
    const auto part = values.subspan(i, group);
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(group));
  }
  return means;
}

// In ascending order.
std::vector<double> SlopesOf(std::span<const double> values) {
  std::vector<double> slopes;
  slopes.reserve(values.size() * (values.size() - 1) / 2);
  for (size_t j = 1; j < values.size(); ++j) {
    for (size_t i = 0; i < j; ++i) slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  std::ranges::sort(slopes);
  return slopes;
}

double MedianOfSorted(std::span<const double> sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// What a drift is a share of. Half of the values of a series of counts may be 0.
double ScaleOf(std::vector<double> values) {
  std::ranges::for_each(values, [](double& value) { value = std::abs(value); });
  std::ranges::sort(values);
  const double median = MedianOfSorted(values);
  return median > 0 ? median : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The variance of Kendall's score of a series of independent values without a trend, where equal ones have no order.
double ScoreVariance(std::vector<double> values) {
  const auto term = [](double n) { return n * (n - 1) * (2 * n + 5) / 18; };
  std::ranges::sort(values);
  double variance = term(static_cast<double>(values.size()));
  for (size_t i = 0; i < values.size();) {
    size_t end = i;
    while (end < values.size() && values[end] == values[i]) ++end;
    variance -= term(static_cast<double>(end - i));
    i = end;
  }
  return variance;
}

// A correlation that seems stronger is taken for the bends of a trend: a backlog that begins halfway, say.
constexpr double kStrongestMemory = 0.7;

// Takes the part that is proportional to `shape` out of the values.
void Remove(std::span<const double> shape, std::span<double> values) {
  const double square = std::inner_product(shape.begin(), shape.end(), shape.begin(), 0.0);
  const double product = std::inner_product(shape.begin(), shape.end(), values.begin(), 0.0);
  for (size_t i = 0; i < values.size(); ++i) values[i] -= shape[i] * product / square;
}

// How many times as great that variance is for a series whose neighbours resemble each other: by the correlation of the
// neighbours (that of an autoregressive series) that is left without the trend. A parabola is taken out, because a
// trend often bends (a warm-up levels off) and what a straight line leaves of it would pass for a correlation.
double VarianceInflation(std::span<const double> values) {
  const double centre = static_cast<double>(values.size() - 1) / 2;
  std::vector<double> level(values.size(), 1.0);
  std::vector<double> line(values.size());
  for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<double>(i) - centre;
  std::vector<double> parabola(values.size());
  std::ranges::transform(line, parabola.begin(), [](double x) { return x * x; });
  Remove(level, parabola);  // the line is at right angles to both for its symmetry
  std::vector<double> rest(values.begin(), values.end());
  for (const auto& shape : {level, line, parabola}) Remove(shape, rest);
  const double square = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
  if (square <= 0) return 1;
  const double product = std::inner_product(rest.begin() + 1, rest.end(), rest.begin(), 0.0);
  const double correlation = std::clamp(product / square, 0.0, kStrongestMemory);
  return (1 + correlation) / (1 - correlation);
}

}  // namespace

Trend TrendOf(std::span<const double> all_values, const TrendLimits& limits) {
  Trend trend;
  if (all_values.size() < kFewestValues) return trend;
  const std::vector<double> values = Thinned(all_values);
  const std::vector<double> slopes = SlopesOf(values);
  const double slope = MedianOfSorted(slopes);
  const double rising = static_cast<double>(std::ranges::count_if(slopes, [](double s) { return s > 0; }));
  const double falling = static_cast<double>(std::ranges::count_if(slopes, [](double s) { return s < 0; }));
  const double deviation = std::sqrt(ScoreVariance(values) * VarianceInflation(values));
  trend.kind = Trend::Kind::kSteady;
  const double scale = ScaleOf(values);
  if (deviation <= 0 || scale <= 0) return trend;  // all values are equal

  // The score moves in steps of 2, so that a normal distribution fits it best half a step nearer to 0.
  const double z = std::max(std::abs(rising - falling) - 1, 0.0) / deviation;
  trend.p_value = std::erfc(z / std::sqrt(2.0));
  const double pairs = static_cast<double>(slopes.size());
  const double low = std::clamp((pairs - 1.96 * deviation) / 2 - 1, 0.0, pairs - 1);
  const double share = static_cast<double>(values.size() - 1) / scale;
  trend.drift = slope * share;
  trend.drift_low = slopes[static_cast<size_t>(low)] * share;
  trend.drift_high = slopes[slopes.size() - 1 - static_cast<size_t>(low)] * share;
  if (trend.p_value < limits.significance && std::abs(trend.drift) > limits.drift) {
    trend.kind = trend.drift > 0 ? Trend::Kind::kRising : Trend::Kind::kFalling;
  }
  return trend;
}

}  // namespace ferry
