#include "loadgen/svg_chart.h"

#include <gmock/gmock.h>

#include <cmath>

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ChartAxis Axis(bool logarithmic = false) {
  return {"values", logarithmic, [](double value) { return std::to_string(static_cast<int>(value)); }, {}};
}

TEST(SvgChartTest, TicksAreRoundAndReachTheHighestValue) {
  EXPECT_THAT(LinearTicks(10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(LinearTicks(11, 5), ElementsAre(0, 5, 10, 15));
  EXPECT_THAT(LinearTicks(4300, 5), ElementsAre(0, 1000, 2000, 3000, 4000, 5000));
  EXPECT_THAT(LinearTicks(1, 4), ElementsAre(0, 0.5, 1));
  for (const double high : {0.003, 0.7, 1.0, 9.99, 123.0, 98765.0}) {
    EXPECT_LE(LinearTicks(high, 5).size(), 7u) << high;
    EXPECT_GE(LinearTicks(high, 5).back(), high * (1 - 1e-9)) << high;
  }
}

TEST(SvgChartTest, LogarithmicTicksEncloseTheRange) {
  EXPECT_THAT(LogTicks(1, 10000), ElementsAre(1, 10, 100, 1000, 10000));
  EXPECT_THAT(LogTicks(3, 30), ElementsAre(2, 5, 10, 20, 50));
  EXPECT_THAT(LogTicks(0.2, 700), ElementsAre(0.1, 1, 10, 100, 1000));
  EXPECT_GE(LogTicks(5, 5).size(), 2u);
}

TEST(SvgChartTest, WhatComesFromOutsideIsEscaped) {
  const std::string chart = LineChart("<title>", Axis(), Axis(), {{"<script>", 0, false, {{1, 2}, {2, 3}}}});
  EXPECT_THAT(chart, AllOf(HasSubstr("&lt;title&gt;"), HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script>"))));
}

TEST(SvgChartTest, ValuesLieBetweenTheAxes) {
  const std::string chart = LineChart("t", Axis(), Axis(), {{"s", 0, false, {{0, 0}, {10, 100}}}});
  EXPECT_THAT(chart, HasSubstr("M70.0 250.0L506.0 14.0"));
}

TEST(SvgChartTest, WhatIsNoNumberIsAGap) {
  const std::string chart = LineChart("t", Axis(), Axis(), {{"s", 0, false, {{0, 10}, {5, NAN}, {10, 10}}}});
  EXPECT_THAT(chart, HasSubstr("d=\"M70.0 14.0M506.0 14.0\""));
}

TEST(SvgChartTest, WhatCannotBeDrawnIsLeftOut) {
  EXPECT_EQ(LineChart("t", Axis(), Axis(), {}), "");
  EXPECT_EQ(LineChart("t", Axis(), Axis(), {{"empty", 0, false, {}}}), "");
  EXPECT_EQ(LineChart("t", Axis(), Axis(true), {{"zero", 0, false, {{1, 0}, {2, -1}}}}), "");
  EXPECT_THAT(LineChart("t", Axis(), Axis(), {{"one", 0, false, {{0, 0}}}}), HasSubstr("<circle"));
}

}  // namespace
}  // namespace ferry
