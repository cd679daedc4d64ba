#include "loadgen/result_comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/report_figures.h"

namespace ferry {

namespace {

bool SameLoad(const LoadShape& a, const LoadShape& b) {
  return a.kind == b.kind && a.value == b.value && a.arrivals == b.arrivals;
}

const LoadPoint* Find(const BenchResult& result, const LoadShape& load) {
  const auto found =
      std::ranges::find_if(result.points, [&](const LoadPoint& point) { return SameLoad(point.load, load); });
  return found == result.points.end() ? nullptr : &*found;
}

// How a figure is read off a point and off one of its seconds.
struct Figure {
  const char* name;
  ComparisonOptions::Better better;
  double (*of_point)(const LoadPoint&);
  double (*of_second)(const SecondOfLoad&);
};

constexpr Figure kFigures[] = {
    {"ok/s", ComparisonOptions::Better::kHigher, [](const LoadPoint& point) { return point.requests_per_second; },
     [](const SecondOfLoad& second) { return static_cast<double>(second.ok); }},
    {"p50", ComparisonOptions::Better::kLower,
     [](const LoadPoint& point) { return Milliseconds(point.response.Quantile(0.5)); },
     [](const SecondOfLoad& second) { return Milliseconds(second.p50); }},
    {"p99", ComparisonOptions::Better::kLower,
     [](const LoadPoint& point) { return Milliseconds(point.response.Quantile(0.99)); },
     [](const SecondOfLoad& second) { return Milliseconds(second.p99); }}};

RunFigures Figures(const std::vector<BenchResult>& results, const LoadShape& load, const Figure& figure) {
  RunFigures figures;
  for (const BenchResult& result : results) {
    const LoadPoint& point = *Find(result, load);
    figures.runs.push_back(figure.of_point(point));
    if (results.size() > 1) continue;
    for (const SecondOfLoad& second : point.seconds) figures.seconds.push_back(figure.of_second(second));
  }
  return figures;
}

Status CheckAll(const std::vector<const BenchResult*>& results) {
  for (const BenchResult* result : results) {
    if (result->model != results.front()->model) {
      return InvalidArgumentError(
          StrCat("results of different models: ", results.front()->model, " and ", result->model));
    }
    for (const LoadPoint& point : result->points) {
      if (!point.invalid.empty()) {
        return InvalidArgumentError(StrCat("the result of ", result->started, ", ", LoadText(point.load),
                                           ", is invalid: ", point.invalid.front()));
      }
    }
  }
  return Status();
}

}  // namespace

Result<std::vector<FigureComparison>> CompareResults(const std::vector<BenchResult>& baseline,
                                                     const std::vector<BenchResult>& candidate, double threshold) {
  std::vector<const BenchResult*> all;
  for (const auto* side : {&baseline, &candidate}) {
    for (const BenchResult& result : *side) all.push_back(&result);
  }
  FERRY_RETURN_IF_ERROR(CheckAll(all));
  std::vector<FigureComparison> comparisons;
  for (const LoadPoint& point : baseline.front().points) {
    if (!std::ranges::all_of(all, [&](const BenchResult* result) { return Find(*result, point.load) != nullptr; }))
      continue;
    for (const Figure& figure : kFigures) {
      const bool throughput = figure.better == ComparisonOptions::Better::kHigher;
      if (throughput && point.load.kind != LoadShape::Kind::kConcurrency) continue;
      ComparisonOptions options;
      options.better = figure.better;
      options.threshold = threshold;
      comparisons.push_back(
          {point.load, figure.name,
           CompareRuns(Figures(baseline, point.load, figure), Figures(candidate, point.load, figure), options)});
    }
  }
  if (comparisons.empty()) return InvalidArgumentError("no load was measured in all results");
  return comparisons;
}

std::string ComparisonText(const std::vector<FigureComparison>& comparisons) {
  std::string text;
  for (const auto& [load, figure, comparison] : comparisons) {
    text += fmt::format("{:<24} {:<5} {:<18} {:.3f} [{:.3f}, {:.3f}]  {}\n", LoadText(load), figure,
                        VerdictName(comparison.verdict), comparison.ratio, comparison.low, comparison.high,
                        comparison.explanation);
  }
  return text + "candidate / baseline, with 95 % confidence\n";
}

}  // namespace ferry
