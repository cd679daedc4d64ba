#include "loadgen/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "loadgen/duration_units.h"
#include "loadgen/number_text.h"
#include "loadgen/report_figures.h"

namespace ferry {

namespace {

constexpr size_t kMostBars = 12;
constexpr double kLongestBar = 30;

using Cells = std::vector<std::string>;

// Columns as wide as they need to be; the first to the left, figures to the right.
std::string Aligned(const std::vector<Cells>& lines) {
  std::vector<size_t> widths(lines.front().size());
  for (const Cells& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    std::string row = fmt::format("{:<{}}", line[0], widths[0]);
    for (size_t i = 1; i < line.size(); ++i) row += fmt::format("  {:>{}}", line[i], widths[i]);
    text += row + "\n";
  }
  return text;
}

Cells Line(const LoadPoint& point) {
  const std::optional<double> batch = MeanBatch(point);
  Cells cells = {LoadText(point.load), NumberText(point.requests_per_second)};
  for (const double q : {0.5, 0.9, 0.99, 0.999}) cells.push_back(QuantileText(point.response, q));
  cells.push_back(point.ok > 0 ? DurationText(point.response.max()) : "-");
  cells.push_back(point.failed == 0 ? "0"
                                    : ShareText(static_cast<double>(point.failed), static_cast<double>(point.offered)));
  cells.push_back(batch ? NumberText(*batch) : "-");
  cells.push_back(DurationText(point.lateness.Quantile(0.99)));
  cells.push_back(point.invalid.empty() ? "" : "INVALID");
  return cells;
}

std::string StagesText(const LoadPoint& point) {
  std::string text;
  for (const auto& [name, mean] : Stages(point)) {
    if (name == "generator late" && point.load.kind == LoadShape::Kind::kConcurrency) continue;
    text += fmt::format("{}{} {}", text.empty() ? "  where the mean goes: " : ", ", name, DurationText(mean));
  }
  return text.empty() ? text : text + "\n";
}

std::string BatchesText(const LoadPoint& point) {
  if (!point.server || point.server->batches.empty()) return "";
  const std::vector<BatchBar> bars = BatchBars(*point.server, kMostBars);
  const uint64_t most = std::ranges::max_element(bars, {}, &BatchBar::executions)->executions;
  std::string text = "  batches, rows each:\n";
  for (const BatchBar& bar : bars) {
    const double share = static_cast<double>(bar.executions) / static_cast<double>(most);
    text += fmt::format("  {:>9}  {:<{}}  {} x {}\n", bar.sizes,
                        std::string(static_cast<size_t>(share * kLongestBar + 0.99), '#'),
                        static_cast<int>(kLongestBar), bar.executions, DurationText(bar.infer));
  }
  return text;
}

// What a sample of this size leaves open, for the usual quantiles and the one that was asked for.
std::string IntervalText(const LoadPoint& point, double asked) {
  std::set<double> quantiles(kReportQuantiles.begin(), kReportQuantiles.end());
  quantiles.insert(asked);
  std::string text;
  for (const double q : quantiles) {
    const std::optional<Interval> interval = ReportInterval(point.response, q);
    if (!interval) continue;
    text += fmt::format("{}{} {} to {}", text.empty() ? "  with 95 % confidence: " : ", ", QuantileName(q),
                        DurationText(interval->low), DurationText(interval->high));
  }
  return text.empty() ? text : fmt::format("{} ({} answers)\n", text, point.response.count());
}

std::string Details(const LoadPoint& point, double q) {
  std::string text = LoadText(point.load) + ":\n";
  for (const std::string& reason : point.invalid) text += fmt::format("  INVALID: {}\n", reason);
  for (const std::string& note : point.notes) text += fmt::format("  note: {}\n", note);
  for (const FailureCount& failure : point.failures) {
    text += fmt::format("  {} x {}: {}\n", failure.count, failure.code, failure.message);
  }
  for (const ClassResult& each : point.classes) {
    text += fmt::format("  {}: {} of {} answered, p50 {}, p99 {}\n", each.name, each.ok, each.offered,
                        QuantileText(each.response, 0.5), QuantileText(each.response, 0.99));
  }
  return text + IntervalText(point, q) + StagesText(point) + BatchesText(point);
}

std::string ScenarioText(const ScenarioResult& scenario) {
  std::string text = fmt::format(
      "\nlike MLPerf's {} (unofficial): {} {}\n", scenario.name, scenario.figure,
      scenario.value > 0 ? fmt::format("{} {}", NumberText(scenario.value), scenario.unit) : std::string("unknown"));
  for (const std::string& reason : scenario.short_of_rules) text += fmt::format("  not by the rules: {}\n", reason);
  return text;
}

}  // namespace

std::string TableReport(const BenchResult& result) {
  std::string text = fmt::format("model {} on {} ({}), {}, {} cores here\n\n", result.model, result.target,
                                 result.server.empty() ? "a server without a name" : result.server, result.started,
                                 result.client.cpus);
  std::vector<Cells> lines = {{"load", "ok/s", "p50", "p90", "p99", "p99.9", "max", "failed", "batch", "late p99", ""}};
  for (const LoadPoint& point : result.points) lines.push_back(Line(point));
  if (result.points.empty()) return text + "nothing was measured\n";
  text += Aligned(lines) + "\n";
  for (const LoadPoint& point : result.points) text += Details(point, result.measured_quantile);
  if (result.objective) {
    const ObjectiveResult& objective = *result.objective;
    text += fmt::format("\n{} within {}: up to {} requests/s\n  {}\n", QuantileName(objective.quantile),
                        DurationText(objective.bound), NumberText(objective.highest_rate), objective.explanation);
  }
  if (result.scenario) text += ScenarioText(*result.scenario);
  return text;
}

std::string LiveLine(const LoadShape& load, const LoadStatus& status) {
  const double elapsed = Seconds(status.elapsed);
  return fmt::format("{:>6.1f} s  {}{}  {} sent, {} ok, {} failed, {} under way;  last second {} ok, p50 {}, p99 {}",
                     elapsed, LoadText(load), status.warming_up ? " (warm-up)" : "", status.offered, status.ok,
                     status.failed, status.under_way, status.recent.count(), DurationText(status.recent.Quantile(0.5)),
                     DurationText(status.recent.Quantile(0.99)));
}

}  // namespace ferry
