#ifndef FERRY_LOADGEN_QUANTILE_STATISTICS_H_
#define FERRY_LOADGEN_QUANTILE_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "ferry/clock.h"
#include "loadgen/latency_histogram.h"

namespace ferry {

// How sure a sample makes one of what it says. Pure functions; none assumes a shape of the latencies. Those of
// quantiles take the requests for independent of each other. The requests of a queue are not (they wait together), so
// near saturation the true confidence is lower than the one asked for, and an interval is too narrow: repeat the run to
// see by how much.

// From `low` to `high`, both included.
struct Interval {
  Duration low{};
  Duration high{};
};

// Where the quantile `q` of all requests such as the recorded ones lies, with this confidence at least: two of the
// values recorded, chosen by rank. Nothing where there are too few for that (p99 with 95 %: fewer than 368).
// REQUIRES: 0 < q < 1, 0 < confidence < 1.
std::optional<Interval> QuantileInterval(const LatencyHistogram& latencies, double q, double confidence);

// The fewest requests that, with no more than `misses` of them over a bound, show with this confidence that the
// quantile `q` is within it. REQUIRES: 0 < q < 1, 0 < confidence < 1.
uint64_t SamplesNeeded(double q, uint64_t misses, double confidence = 0.99);

enum class Judgement {
  kPass,       // the quantile is within the bound, with the confidence asked for
  kFail,       // it is not, with the same confidence
  kUndecided,  // too few requests to tell
};

// What `over` requests over a bound, of `count`, say about the quantile `q`. Either verdict is wrong with a probability
// of at most 1 - confidence each time it is asked. REQUIRES: over <= count, 0 < q < 1, 0 < confidence < 1.
Judgement JudgeQuantile(uint64_t count, uint64_t over, double q, double confidence = 0.99);

// When TrendOf() takes what it sees for a trend.
struct TrendLimits {
  // The share of steady series that may be called rising or falling for their noise. A lower one misses more trends.
  double significance = 0.01;
  // Drift over the whole series, as a share of its median, that does not matter. 5 % by default.
  double drift = 0.05;
};

// Whether a series of values in the order of time stays where it is.
struct Trend {
  enum class Kind {
    kTooShort,  // fewer than 8 values: nothing can be said
    kSteady,    // no drift beyond the limits can be shown
    kRising,
    kFalling,
  };
  Kind kind = Kind::kTooShort;
  // The probability that a steady series shows as clear an order as this one. Two-sided.
  double p_value = 1;
  // How far the values move from the first to the last, as a share of their median: the median of all slopes between
  // two of them. With 95 % confidence it is between `drift_low` and `drift_high`; where these are far apart, a series
  // called steady is merely too noisy to tell.
  double drift = 0;
  double drift_low = 0;
  double drift_high = 0;
};

// Tests for a monotone trend by the order of the values alone (Mann and Kendall), so that outliers count no more than
// others; the slope is Theil's and Sen's. Where neighbours resemble each other beyond the trend, the test asks for more
// accordingly. It recognises a drift through a good part of the series (a slow warm-up, a backlog that grows), not a
// short transient at its start. Of more than 512 values, neighbours are averaged first. REQUIRES: finite values.
Trend TrendOf(std::span<const double> values, const TrendLimits& limits = {});

}  // namespace ferry

#endif  // FERRY_LOADGEN_QUANTILE_STATISTICS_H_
