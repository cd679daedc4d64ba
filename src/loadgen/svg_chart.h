#ifndef FERRY_LOADGEN_SVG_CHART_H_
#define FERRY_LOADGEN_SVG_CHART_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferry {

// Lines over two axes as SVG inside HTML. Colors and the sizes of text are those of the page: classes c0 to c5, tick, axis.

struct ChartSeries {
  std::string name;
  size_t color = 0;  // of six, after which they come again
  bool dashed = false;
  std::vector<std::pair<double, double>> points;  // in the order of their x
};

struct ChartAxis {
  std::string title;
  bool logarithmic = false;  // for values above 0; else the axis begins with 0
  std::function<std::string(double)> text;
  std::vector<double> ticks;  // empty: round numbers are chosen
};

// At most `most` + 1 round numbers (1, 2 or 5 times a power of ten apart) from 0 to the first that is `high` or more.
// REQUIRES: high > 0, most > 0.
std::vector<double> LinearTicks(double high, int most);

// Powers of ten around the range; where there are fewer than two between its ends, also 2 and 5 times these.
// REQUIRES: 0 < low <= high.
std::vector<double> LogTicks(double low, double high);

// A figure with its legend; empty where there is nothing to draw. Where a point is no number, or not above 0 on a logarithmic
// axis, its line has a gap.
std::string LineChart(std::string_view title, const ChartAxis& x, const ChartAxis& y,
                      const std::vector<ChartSeries>& series);

}  // namespace ferry

#endif  // FERRY_LOADGEN_SVG_CHART_H_
