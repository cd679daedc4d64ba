#include "loadgen/scenario.h"

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/number_text.h"
#include "loadgen/quantile_statistics.h"
#include "loadgen/report_figures.h"

namespace ferry {

namespace {

constexpr int64_t kMultiStreamRows = 8;
// Of a run by the rules.
constexpr std::chrono::seconds kLeastTime(600);
constexpr uint64_t kLeastOfflineSamples = 24'576;

struct Known {
  std::string_view name;
  Scenario scenario;
  double quantile;
};

constexpr Known kKnown[] = {{"single-stream", Scenario::kSingleStream, 0.9},
                            {"multi-stream", Scenario::kMultiStream, 0.99},
                            {"server", Scenario::kServer, 0.99},
                            {"offline", Scenario::kOffline, 0.5}};

const Known& Of(Scenario scenario) { return kKnown[static_cast<size_t>(scenario)]; }

// The largest number of requests over a bound with which so many show that the quantile is within it; nothing where there
// are too few to allow one.
std::optional<uint64_t> AllowedOver(uint64_t count, double q) {
  if (SamplesNeeded(q, 1) > count) return std::nullopt;
  uint64_t low = 1, high = count;  // `low` is allowed, `high` is not
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (SamplesNeeded(q, middle) <= count ? low : high) = middle;
  }
  return low;
}

// Of the latencies without the worst that early stopping lets off, the greatest.
void JudgeLatency(double q, const LoadPoint& point, ScenarioResult& result) {
  result.figure = StrCat(QuantileName(q), " latency");
  result.unit = "ms";
  const uint64_t count = point.response.count();
  const std::optional<uint64_t> over = AllowedOver(count, q);
  if (!over) {
    result.short_of_rules.push_back(
        StrCat(count, " requests are too few for ", QuantileName(q), ", which takes ", SamplesNeeded(q, 1)));
    return;
  }
  const double rank = static_cast<double>(count - *over) + 0.5;
  result.value = Milliseconds(point.response.Quantile(rank / static_cast<double>(count)));
}

void JudgeOffline(const LoadPoint& point, ScenarioResult& result) {
  result.figure = "throughput";
  result.unit = "samples/s";
  result.value = InferencesPerSecond(point);
  const double samples = static_cast<double>(point.ok) * point.rows;
  if (samples >= static_cast<double>(kLeastOfflineSamples)) return;
  result.short_of_rules.push_back(StrCat(NumberText(samples), " samples of ", kLeastOfflineSamples));
}

}  // namespace

std::optional<Scenario> ParseScenario(std::string_view text) {
  for (const Known& known : kKnown) {
    if (known.name == text) return known.scenario;
  }
  return std::nullopt;
}

Status ApplyScenario(Scenario scenario, MeasureOptions& options) {
  const std::string flag = StrCat("--scenario ", Of(scenario).name, ": ");
  if (!options.concurrencies.empty() || !options.rates.empty() || !options.trace.empty()) {
    return InvalidArgumentError(StrCat(flag, "the scenario sets the load itself"));
  }
  if (options.objective.has_value() != (scenario == Scenario::kServer)) {
    return InvalidArgumentError(
        StrCat(flag, scenario == Scenario::kServer ? "needs --latency-threshold" : "takes no --latency-threshold"));
  }
  options.percentile = Of(scenario).quantile * 100;
  options.arrivals = "poisson";
  if (scenario == Scenario::kMultiStream) options.batch = kMultiStreamRows;
  if (scenario == Scenario::kSingleStream || scenario == Scenario::kMultiStream) options.concurrencies = {1};
  return Status();
}

ScenarioResult JudgeScenario(Scenario scenario, const BenchResult& result) {
  const Known& known = Of(scenario);
  ScenarioResult judged;
  judged.name = known.name;
  if (result.points.empty()) {
    judged.short_of_rules.push_back("nothing was measured");
    return judged;
  }
  const LoadPoint& point = result.points.back();
  if (scenario == Scenario::kServer) {
    judged.figure = "highest scheduled rate";
    judged.unit = "samples/s";
    judged.value = result.objective ? result.objective->highest_rate : 0;
  } else if (scenario == Scenario::kOffline) {
    JudgeOffline(point, judged);
  } else {
    JudgeLatency(known.quantile, point, judged);
  }
  if (point.window < kLeastTime) {
    judged.short_of_rules.push_back(
        StrCat(DurationText(point.window), " were measured, of ", kLeastTime.count(), " s"));
  }
  for (const std::string& reason : point.invalid) judged.short_of_rules.push_back(reason);
  return judged;
}

}  // namespace ferry
