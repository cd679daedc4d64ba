#include "loadgen/report_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "loadgen/duration_units.h"
#include "loadgen/number_text.h"

namespace ferry {

namespace {

Duration MeanOf(const LatencyHistogram& histogram) {
  return Duration(static_cast<Duration::rep>(histogram.MeanNanoseconds()));
}

// The last size of the range that `size` falls in: 1, 2, 4, 8, ...
int64_t RangeEnd(int64_t size) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1))));
}

std::string RangeText(int64_t end) {
  const int64_t begin = end / 2 + 1;
  return begin >= end ? fmt::format("{}", end) : fmt::format("{}-{}", begin, end);
}

}  // namespace

std::string QuantileText(const LatencyHistogram& histogram, double q) {
  const uint64_t needed = SamplesNeeded(q, 0, 0.95);
  if (histogram.count() < needed) return fmt::format("n<{}", needed);
  return DurationText(histogram.Quantile(q));
}

std::optional<Interval> ReportInterval(const LatencyHistogram& histogram, double q) {
  return histogram.count() == 0 ? std::nullopt : QuantileInterval(histogram, q, 0.95);
}

std::string LoadText(const LoadShape& load) {
  if (load.kind == LoadShape::Kind::kConcurrency) return fmt::format("{} at once", NumberText(load.value));
  return fmt::format("{}/s {}", NumberText(load.value), load.arrivals);
}

double OfferedPerSecond(const LoadPoint& point) {
  const double span = Seconds(point.window);
  return span > 0 ? static_cast<double>(point.offered) / span : 0;
}

double InferencesPerSecond(const LoadPoint& point) { return point.requests_per_second * point.rows; }

std::optional<double> MeanBatch(const LoadPoint& point) {
  if (!point.server || point.server->executions == 0) return std::nullopt;
  return static_cast<double>(point.server->inferences) / static_cast<double>(point.server->executions);
}

std::vector<Stage> Stages(const LoadPoint& point) {
  if (!point.server || point.server->requests == 0 || point.response.count() == 0) return {};
  const ServerSide& server = *point.server;
  const Duration service = MeanOf(point.service);
  const Duration inside = server.queue + server.compute_input + server.compute_infer + server.compute_output;
  return {{"generator late", std::max(MeanOf(point.response) - service, Duration::zero())},
          {"queue", server.queue},
          {"compute input", server.compute_input},
          {"compute infer", server.compute_infer},
          {"compute output", server.compute_output},
          {"network, rest", std::max(service - inside, Duration::zero())}};
}

std::vector<BatchBar> BatchBars(const ServerSide& server, size_t most) {
  const bool ranges = server.batches.size() > most;
  std::map<int64_t, ServerSide::Batches> gathered;
  for (const auto& [size, batches] : server.batches) {
    ServerSide::Batches& into = gathered[ranges ? RangeEnd(size) : size];
    into.executions += batches.executions;
    into.infer += batches.infer;
  }
  std::vector<BatchBar> bars;
  for (const auto& [size, batches] : gathered) {
    if (batches.executions == 0) continue;
    const auto executions = static_cast<Duration::rep>(batches.executions);
    bars.push_back(
        {ranges ? RangeText(size) : fmt::format("{}", size), batches.executions, batches.infer / executions});
  }
  return bars;
}

std::vector<SpectrumPoint> Spectrum(const LatencyHistogram& histogram) {
  constexpr double kSteps = 5;
  const uint64_t count = histogram.count();
  std::vector<SpectrumPoint> points;
  uint64_t rank = 0;
  for (int step = 0; rank < count; ++step) {
    const double quantile = 1 - std::exp2(-step / kSteps);
    const auto due = static_cast<uint64_t>(std::ceil(quantile * static_cast<double>(count)));
    if (due == rank) continue;  // few values: a step that reaches no further one
    rank = std::clamp<uint64_t>(due, 1, count);
    const Duration value = histogram.ValueAtRank(rank);
    points.push_back({rank == count ? 1 : quantile, value, count - histogram.CountAbove(value)});
  }
  return points;
}

}  // namespace ferry
