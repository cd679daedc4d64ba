#include "loadgen/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loadgen/duration_units.h"
#include "loadgen/html_text.h"
#include "loadgen/number_text.h"
#include "loadgen/report_figures.h"
#include "loadgen/svg_chart.h"

namespace ferry {

namespace {

constexpr size_t kMostBatchBars = 16;
// Where the highest value is so many times the lowest, a linear axis shows nothing of the lower ones.
constexpr double kWide = 15;

std::string TimeText(double milliseconds) {
  return ShortDurationText(
      std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(milliseconds)));
}

// For these lines.
ChartAxis LatencyAxis(const std::vector<ChartSeries>& series) {
  double low = HUGE_VAL, high = 0;
  for (const ChartSeries& each : series) {
    for (const auto& [unused, value] : each.points) {
      if (!(value > 0)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  return {"latency", high > kWide * low, TimeText, {}};
}

ChartAxis NumberAxis(std::string title) { return {std::move(title), false, NumberText, {}}; }

ChartSeries LatencyLine(const NamedResult& named, size_t color, double q) {
  ChartSeries series{named.name.empty() ? QuantileName(q) : named.name + " " + QuantileName(q), color, q < 0.9, {}};
  for (const LoadPoint& point : named.result->points) {
    if (point.ok == 0) continue;
    series.points.emplace_back(point.requests_per_second, Milliseconds(point.response.Quantile(q)));
  }
  return series;
}

ChartSeries SpectrumLine(std::string name, size_t color, const LatencyHistogram& histogram) {
  ChartSeries series{std::move(name), color, false, {}};
  for (const SpectrumPoint& point : Spectrum(histogram)) {
    // The maximum stands where the next step would be: it has no finite place.
    const double rest = point.quantile < 1 ? 1 / (1 - point.quantile) : static_cast<double>(histogram.count());
    series.points.emplace_back(rest, Milliseconds(point.value));
  }
  return series;
}

std::string SpectrumOf(const std::vector<ChartSeries>& series) {
  ChartAxis across{"share of the requests that is as fast", true, {}, {1}};
  across.text = [](double rest) { return rest <= 1 ? std::string("0") : QuantileName(1 - 1 / rest); };
  double most = 10;
  for (const ChartSeries& each : series) {
    if (!each.points.empty()) most = std::max(most, each.points.back().first);
  }
  across.ticks.push_back(2);
  for (double rest = 10; rest < most * 1.5; rest *= 10) across.ticks.push_back(rest);
  return LineChart("Latency of all requests, by percentile", across, LatencyAxis(series), series);
}

template <typename Value>
ChartSeries OverTime(std::string name, size_t color, const LoadPoint& point, Value value) {
  ChartSeries series{std::move(name), color, false, {}};
  const double window = Seconds(point.window);
  for (size_t i = 0; i < point.seconds.size(); ++i) {
    // In long runs they are more than a second each, and the last may be less.
    const double end = i + 1 < point.seconds.size() ? point.seconds[i + 1].begin_s : window;
    series.points.emplace_back(point.seconds[i].begin_s, value(point.seconds[i], end - point.seconds[i].begin_s));
  }
  return series;
}

std::string Bar(const std::string& label, double share, const std::string& text) {
  return fmt::format("<span>{}</span><span class=\"bar c0\" style=\"width:{:.1f}%\"></span><span>{}</span>\n",
                     EscapeHtml(label), share * 100, EscapeHtml(text));
}

// What remains of a stack of a mean, and how wide each part is.
std::string Stack(const std::vector<Stage>& stages, Duration longest) {
  std::string html = "<span class=\"stack\">";
  for (size_t i = 0; i < stages.size(); ++i) {
    const double share = Milliseconds(stages[i].mean) / Milliseconds(longest) * 100;
    if (share < 0.05) continue;
    html += fmt::format("<span class=\"c{}\" style=\"width:{:.1f}%\" title=\"{} {}\"></span>", i, share, stages[i].name,
                        DurationText(stages[i].mean));
  }
  return html + "</span>";
}

Duration Total(const std::vector<Stage>& stages) {
  Duration total{};
  for (const Stage& stage : stages) total += stage.mean;
  return total;
}

}  // namespace

std::string ThroughputChart(const std::vector<NamedResult>& results) {
  std::vector<ChartSeries> series;
  bool several = false;
  for (size_t i = 0; i < results.size(); ++i) {
    several = several || results[i].result->points.size() > 1;
    for (const double q : {0.5, 0.99}) series.push_back(LatencyLine(results[i], i, q));
  }
  if (!several) return "";
  return LineChart("Latency as the load grows", NumberAxis("answered requests per second"), LatencyAxis(series),
                   series);
}

std::string SpectrumChart(const std::vector<NamedResult>& results) {
  std::vector<ChartSeries> series;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<LoadPoint>& points = results[i].result->points;
    if (points.empty()) continue;
    series.push_back(
        SpectrumLine(fmt::format("{}, {}", results[i].name, LoadText(points.back().load)), i, points.back().response));
  }
  return SpectrumOf(series);
}

std::string SpectrumChart(const std::vector<LoadPoint>& points) {
  std::vector<ChartSeries> series;
  for (size_t i = 0; i < points.size(); ++i) {
    series.push_back(SpectrumLine(LoadText(points[i].load), i, points[i].response));
    series.back().dashed = i >= 6;  // colors come again
  }
  return SpectrumOf(series);
}

std::string RateOverTime(const LoadPoint& point) {
  const auto rate = [](uint64_t count, double length) {
    return length > 0 ? static_cast<double>(count) / length : NAN;
  };
  std::vector<ChartSeries> series = {OverTime(
      "answered", 0, point, [&](const SecondOfLoad& second, double length) { return rate(second.ok, length); })};
  if (point.failed > 0) {
    series.push_back(OverTime("failed", 1, point,
                              [&](const SecondOfLoad& second, double length) { return rate(second.failed, length); }));
  }
  return LineChart("Requests per second, over time", NumberAxis("seconds"), NumberAxis("requests per second"), series);
}

std::string LatencyOverTime(const LoadPoint& point) {
  // A time without answers has no latency; it must not look quick.
  const auto line = [&](const char* name, size_t color, Duration SecondOfLoad::*latency) {
    return OverTime(name, color, point, [latency](const SecondOfLoad& second, double) {
      return second.ok > 0 ? Milliseconds(second.*latency) : NAN;
    });
  };
  const std::vector<ChartSeries> series = {line("p50", 0, &SecondOfLoad::p50), line("p99", 1, &SecondOfLoad::p99),
                                           line("max", 5, &SecondOfLoad::max)};
  return LineChart("Latency, over time", NumberAxis("seconds"), LatencyAxis(series), series);
}

std::string BatchFigure(const LoadPoint& point) {
  if (!point.server) return "";
  const std::vector<BatchBar> bars = BatchBars(*point.server, kMostBatchBars);
  if (bars.empty()) return "";
  const auto most = static_cast<double>(std::ranges::max_element(bars, {}, &BatchBar::executions)->executions);
  std::string html = "<figure><figcaption>Batches that the server ran, by rows</figcaption><div class=\"bars\">\n";
  for (const BatchBar& bar : bars) {
    html += Bar(bar.sizes, static_cast<double>(bar.executions) / most,
                fmt::format("{} of {}", bar.executions, DurationText(bar.infer)));
  }
  return html + "</div></figure>\n";
}

std::string StageFigure(const std::vector<LoadPoint>& points) {
  Duration longest{};
  for (const LoadPoint& point : points) longest = std::max(longest, Total(Stages(point)));
  if (longest <= Duration::zero()) return "";
  std::string html = "<figure><figcaption>Where the mean of the latency goes</figcaption><div class=\"bars\">\n";
  std::vector<Stage> known;
  bool closed = true;
  for (const LoadPoint& point : points) {
    const std::vector<Stage> stages = Stages(point);
    if (stages.empty()) continue;
    known = stages;
    closed = closed && point.load.kind == LoadShape::Kind::kConcurrency;
    html += fmt::format("<span>{}</span>{}<span>{}</span>\n", EscapeHtml(LoadText(point.load)), Stack(stages, longest),
                        DurationText(Total(stages)));
  }
  html += "</div><ul class=\"legend\">";
  for (size_t i = 0; i < known.size(); ++i) {
    if (i == 0 && closed) continue;  // nobody can be late
    html += fmt::format("<li class=\"c{}\">{}</li>", i, known[i].name);
  }
  return html + "</ul></figure>\n";
}

}  // namespace ferry
