#include "loadgen/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loadgen/html_text.h"

namespace ferry {

namespace {

constexpr double kWidth = 520, kHeight = 300;
constexpr double kLeft = 70, kRight = 506, kTop = 14, kBottom = 250;
constexpr size_t kColors = 6;
// More points than these are a line without dots.
constexpr size_t kMostDots = 60;

// Where the values of an axis lie on the page.
class Scale {
 public:
  Scale(const ChartAxis& axis, double low, double high, double begin, double end)
      : logarithmic_(axis.logarithmic), begin_(begin), end_(end), ticks_(axis.ticks) {
    if (ticks_.empty()) ticks_ = logarithmic_ ? LogTicks(low, high) : LinearTicks(high > 0 ? high : 1, 5);
    low_ = Position(logarithmic_ ? std::min(low, ticks_.front()) : 0);
    high_ = Position(std::max(high, ticks_.back()));
    if (high_ <= low_) high_ = low_ + 1;
  }

  double At(double value) const { return begin_ + (end_ - begin_) * (Position(value) - low_) / (high_ - low_); }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double Position(double value) const { return logarithmic_ ? std::log10(value) : value; }

  const bool logarithmic_;
  const double begin_, end_;
  std::vector<double> ticks_;
  double low_ = 0, high_ = 1;
};

bool Fits(const ChartAxis& axis, double value) { return std::isfinite(value) && (!axis.logarithmic || value > 0); }

// The other points become gaps.
std::vector<ChartSeries> Drawable(const ChartAxis& x, const ChartAxis& y, const std::vector<ChartSeries>& series) {
  std::vector<ChartSeries> drawable = series;
  for (ChartSeries& each : drawable) {
    for (auto& [right, high] : each.points) {
      if (!Fits(x, right) || !Fits(y, high)) right = high = NAN;
    }
  }
  const auto nothing = [](const ChartSeries& each) {
    return std::ranges::all_of(each.points, [](const auto& point) { return std::isnan(point.second); });
  };
  std::erase_if(drawable, nothing);
  return drawable;
}

struct Range {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  void Take(double value) {
    if (std::isnan(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

std::string Axes(const ChartAxis& x, const ChartAxis& y, const Scale& across, const Scale& up) {
  std::string svg;
  for (const double tick : up.ticks()) {
    const double at = up.At(tick);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
        kLeft, kRight, at, at, kLeft - 6, at + 4, EscapeHtml(y.text(tick)));
  }
  for (const double tick : across.ticks()) {
    const double at = across.At(tick);
    // The last one would stick out.
    const char* const anchor = at > kRight - 24 ? "end" : "middle";
    svg += fmt::format("<text class=\"tick\" text-anchor=\"{}\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", anchor, at,
                       kBottom + 18, EscapeHtml(x.text(tick)));
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", kLeft, kRight, kBottom);
  svg += fmt::format("<text class=\"axis\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n", (kLeft + kRight) / 2,
                     kHeight - 8, EscapeHtml(x.title));
  return svg;
}

std::string Line(const ChartSeries& series, const ChartAxis& x, const ChartAxis& y, const Scale& across,
                 const Scale& up) {
  const size_t color = series.color % kColors;
  std::string path, dots;
  bool gap = true;
  for (const auto& [right, high] : series.points) {
    if (std::isnan(high)) {
      gap = true;
      continue;
    }
    const double at_x = across.At(right), at_y = up.At(high);
    path += fmt::format("{}{:.1f} {:.1f}", gap ? "M" : "L", at_x, at_y);
    gap = false;
    if (series.points.size() > kMostDots) continue;
    dots +=
        fmt::format("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}: {}, {}</title></circle>",
                    color, at_x, at_y, EscapeHtml(series.name), EscapeHtml(x.text(right)), EscapeHtml(y.text(high)));
  }
  return fmt::format("<path class=\"line c{}{}\" d=\"{}\"/>{}\n", color, series.dashed ? " dashed" : "", path, dots);
}

std::string Legend(const std::vector<ChartSeries>& series) {
  std::string html = "<ul class=\"legend\">";
  for (const ChartSeries& each : series) {
    html += fmt::format("<li class=\"c{}{}\">{}</li>", each.color % kColors, each.dashed ? " dashed" : "",
                        EscapeHtml(each.name));
  }
  return html + "</ul>\n";
}

}  // namespace

std::vector<double> LinearTicks(double high, int most) {
  double step = std::pow(10, std::floor(std::log10(high / most)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (step * most >= high * (1 - 1e-9)) break;
    step *= factor;
  }
  std::vector<double> ticks = {0};
  while (ticks.back() < high * (1 - 1e-9)) ticks.push_back(step * static_cast<double>(ticks.size()));
  return ticks;
}

std::vector<double> LogTicks(double low, double high) {
  const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const auto last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  std::vector<double> ticks;
  const bool fine = last - first <= 2;
  for (int power = first; power <= std::max(last, first + 1); ++power) {
    for (const double factor : {1, 2, 5}) {
      const double tick = factor * std::pow(10, power);
      if (factor == 1 || fine) ticks.push_back(tick);
    }
  }
  // What lies beyond the range on either side says nothing, but for one tick.
  while (ticks.size() > 2 && ticks[1] <= low) ticks.erase(ticks.begin());
  while (ticks.size() > 2 && ticks[ticks.size() - 2] >= high) ticks.pop_back();
  return ticks;
}

std::string LineChart(std::string_view title, const ChartAxis& x, const ChartAxis& y,
                      const std::vector<ChartSeries>& all) {
  const std::vector<ChartSeries> series = Drawable(x, y, all);
  if (series.empty()) return "";
  Range across_range, up_range;
  for (const ChartSeries& each : series) {
    for (const auto& [right, high] : each.points) {
      across_range.Take(right);
      up_range.Take(high);
    }
  }
  const Scale across(x, across_range.low, across_range.high, kLeft, kRight);
  const Scale up(y, up_range.low, up_range.high, kBottom, kTop);
  std::string svg;
  for (const ChartSeries& each : series) svg += Line(each, x, y, across, up);
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>\n"
      "<svg viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{0}: {3} against {4}\">\n{5}{6}</svg>\n{7}</figure>\n",
      EscapeHtml(title), kWidth, kHeight, EscapeHtml(y.title), EscapeHtml(x.title), Axes(x, y, across, up), svg,
      Legend(series));
}

}  // namespace ferry
