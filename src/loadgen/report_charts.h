#ifndef FERRY_LOADGEN_REPORT_CHARTS_H_
#define FERRY_LOADGEN_REPORT_CHARTS_H_

#include <string>
#include <vector>

#include "loadgen/bench_result.h"

namespace ferry {

// The pictures of the HTML report. Each is empty where there is nothing to show.

// A result, with the name that tells it from the others on the page.
struct NamedResult {
  std::string name;
  const BenchResult* result = nullptr;
};

// Latency against throughput, a line for p50 and for p99 of each result.
std::string ThroughputChart(const std::vector<NamedResult>& results);

// All percentiles at once, the tail drawn out: a line for each result's last point.
std::string SpectrumChart(const std::vector<NamedResult>& results);
// A line for each point.
std::string SpectrumChart(const std::vector<LoadPoint>& points);

// What happened in each second.
std::string RateOverTime(const LoadPoint& point);
std::string LatencyOverTime(const LoadPoint& point);

// Executions by the size of their batch, with the time of one.
std::string BatchFigure(const LoadPoint& point);

// Where the mean of the latency went, a bar for each point.
std::string StageFigure(const std::vector<LoadPoint>& points);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_CHARTS_H_
