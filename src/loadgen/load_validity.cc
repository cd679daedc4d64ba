#include "loadgen/load_validity.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/strings.h"

namespace ferry {

namespace {

using std::chrono::milliseconds;

std::string Milliseconds(Duration time) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << std::chrono::duration<double, std::milli>(time).count() << " ms";
  return text.str();
}

// Answers become rarer towards the end where more is offered than served.
bool BacklogGrew(const LoadPoint& point) {
  if (point.load.kind == LoadShape::Kind::kConcurrency || point.seconds.size() < 4) return false;
  const size_t half = point.seconds.size() / 2;
  Duration early{}, late{};
  for (size_t i = 0; i < half; ++i) {
    early = std::max(early, point.seconds[i].p50);
    late = i == 0 ? point.seconds[half].p50 : std::min(late, point.seconds[half + i].p50);
  }
  // Each second of the second half is worse, by far, than the worst of the first.
  return late > milliseconds(10) && late > early * 3 / 2;
}

}  // namespace

void CheckValidity(double busy, LoadPoint& point) {
  if (point.ok == 0) point.invalid.push_back("no request was answered with OK");
  const Duration late = point.lateness.Quantile(0.99);
  const Duration allowed = std::max<Duration>(milliseconds(1), point.response.Quantile(0.5) / 10);
  if (late > allowed) {
    point.invalid.push_back(StrCat("the generator fell behind: 1 % of the requests were sent ", Milliseconds(late),
                                   " or more after they were due (allowed: ", Milliseconds(allowed), ")"));
  }
  if (point.dropped > 0) {
    point.notes.push_back(
        StrCat(point.dropped, " requests were not sent, as so many were under way; they count as failed"));
  }
  if (point.wrong > 0) point.invalid.push_back(StrCat(point.wrong, " answers were wrong"));
  if (BacklogGrew(point)) {
    point.notes.push_back(
        "not sustainable: responses took longer and longer, so that percentiles depend on the duration");
  }
  if (busy > 0.9 && late > milliseconds(1)) {
    std::ostringstream cores;
    cores << std::fixed << std::setprecision(1) << busy;
    point.notes.push_back(StrCat("the generator used ", cores.str(), " cores; with more --threads it may keep up"));
  }
}

}  // namespace ferry
