#ifndef FERRY_LOADGEN_RESULT_COMPARISON_H_
#define FERRY_LOADGEN_RESULT_COMPARISON_H_

#include <string>
#include <vector>

#include "ferry/status.h"
#include "loadgen/bench_result.h"
#include "loadgen/run_comparison.h"

namespace ferry {

// One figure of one load in two sets of results.
struct FigureComparison {
  LoadShape load;
  std::string figure;  // "ok/s", "p50" or "p99"
  Comparison comparison;
};

// Compares each load that all results have: throughput, the median and the 99th percentile of the responses. In an open
// loop the throughput is what was offered, and left out.
//   INVALID_ARGUMENT  a result is invalid, the two sides measured different models, or no load is in all of them
Result<std::vector<FigureComparison>> CompareResults(const std::vector<BenchResult>& baseline,
                                                     const std::vector<BenchResult>& candidate, double threshold);

// A line for each.
std::string ComparisonText(const std::vector<FigureComparison>& comparisons);

}  // namespace ferry

#endif  // FERRY_LOADGEN_RESULT_COMPARISON_H_
