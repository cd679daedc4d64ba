#ifndef FERRY_LOADGEN_REPORT_FIGURES_H_
#define FERRY_LOADGEN_REPORT_FIGURES_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/bench_result.h"
#include "loadgen/quantile_statistics.h"

namespace ferry {

// What every report derives from a LoadPoint, so that all of them say the same.

inline constexpr std::array<double, 6> kReportQuantiles = {0.5, 0.9, 0.95, 0.99, 0.999, 0.9999};

// The quantile, or, with too few values for it, "n<2995".
std::string QuantileText(const LatencyHistogram& histogram, double q);

// Where the quantile of all such requests lies, with 95 % confidence; nothing with too few values for that.
std::optional<Interval> ReportInterval(const LatencyHistogram& histogram, double q);

// "16 at once", "500/s poisson"
std::string LoadText(const LoadShape& load);

// Requests that were due, over the time in which they were: waiting for the last answers does not count.
double OfferedPerSecond(const LoadPoint& point);
double InferencesPerSecond(const LoadPoint& point);

// Inferences of a batch that the server executed; nothing where it does not tell or executed none.
std::optional<double> MeanBatch(const LoadPoint& point);

// Where the mean response time went, in the order of a request's way; together they are the mean.
struct Stage {
  std::string_view name;
  Duration mean{};
};

// Nothing where the server has no statistics or nobody got an answer. Client and server count by different clocks and
// requests: what remains for "network, rest" can be below zero, and then reads as zero.
std::vector<Stage> Stages(const LoadPoint& point);

// Executions by the size of their batch. More than `most` sizes are gathered in ranges that double: "17-32".
struct BatchBar {
  std::string sizes;
  uint64_t executions = 0;
  Duration infer{};  // of one execution
};
std::vector<BatchBar> BatchBars(const ServerSide& server, size_t most);

// The quantiles of a histogram so that the tail is seen: five steps for every halving of what lies above, and the maximum.
struct SpectrumPoint {
  double quantile = 0;
  Duration value{};
  uint64_t count = 0;  // of values up to it
};
std::vector<SpectrumPoint> Spectrum(const LatencyHistogram& histogram);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_FIGURES_H_
