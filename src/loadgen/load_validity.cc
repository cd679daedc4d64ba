#include "loadgen/load_validity.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/quantile_statistics.h"

namespace ferry {

namespace {

using std::chrono::milliseconds;

std::string MillisecondsText(Duration time) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << Milliseconds(time) << " ms";
  return text.str();
}

Duration AllowedLateness(const LoadPoint& point) {
  return std::max<Duration>(milliseconds(1), point.response.Quantile(0.5) / 10);
}

// Answers of a closed loop that come faster or slower all the time are of a server that has not warmed up, or that fills up.
void NoteTrend(LoadPoint& point) {
  if (point.load.kind != LoadShape::Kind::kConcurrency) return;
  std::vector<double> answers;
  for (const SecondOfLoad& second : point.seconds) answers.push_back(static_cast<double>(second.ok));
  if (!answers.empty() && point.seconds.back().begin_s + 1 > Seconds(point.window))
    answers.pop_back();  // not a whole second
  const Trend trend = TrendOf(answers);
  if (trend.kind != Trend::Kind::kRising && trend.kind != Trend::Kind::kFalling) return;
  std::ostringstream percent;
  percent << std::fixed << std::setprecision(0) << std::abs(trend.drift) * 100;
  point.notes.push_back(StrCat("not stationary: answers per second ",
                               trend.kind == Trend::Kind::kRising ? "rose" : "fell", " by ", percent.str(),
                               " % while it was measured; a longer --warmup may help"));
}

}  // namespace

bool GeneratorFellBehind(const LoadPoint& point) {
  const uint64_t late = point.lateness.CountAbove(AllowedLateness(point));
  return JudgeQuantile(point.lateness.count(), late, 0.99) == Judgement::kFail;
}

bool BacklogGrew(const LoadPoint& point) {
  if (point.load.kind == LoadShape::Kind::kConcurrency) return false;
  std::vector<double> medians;
  for (const SecondOfLoad& second : point.seconds) {
    if (second.ok > 0) medians.push_back(Seconds(second.p50));
  }
  // Medians that double in a run are no noise of the machine; that far, and no further, a busy queue may wander.
  const Trend trend = TrendOf(medians);
  return trend.kind == Trend::Kind::kRising && trend.drift_low > 1;
}

void CheckValidity(double busy, LoadPoint& point) {
  if (point.ok == 0) point.invalid.push_back("no request was answered with OK");
  const Duration late = point.lateness.Quantile(0.99);
  if (GeneratorFellBehind(point)) {
    point.invalid.push_back(StrCat("the generator fell behind: 1 % of the requests were sent ", MillisecondsText(late),
                                   " or more after they were due (allowed: ", MillisecondsText(AllowedLateness(point)),
                                   ")"));
  }
  if (point.dropped > 0) {
    point.notes.push_back(
        StrCat(point.dropped, " requests were not sent, as so many were under way; they count as failed"));
  }
  if (point.wrong > 0) {
    point.invalid.push_back(StrCat(point.wrong, " answers were wrong; the first: ", point.first_fault));
  }
  if (point.cancelled > 0) {
    point.notes.push_back(StrCat(point.cancelled, " requests were cancelled, as the load was told to"));
  }
  if (BacklogGrew(point)) {
    point.notes.push_back(
        "not sustainable: responses took longer and longer, so that percentiles depend on the duration");
  }
  NoteTrend(point);
  if (busy > 0.9 && late > milliseconds(1)) {
    std::ostringstream cores;
    cores << std::fixed << std::setprecision(1) << busy;
    point.notes.push_back(StrCat("the generator used ", cores.str(), " cores; with more --threads it may keep up"));
  }
}

}  // namespace ferry
