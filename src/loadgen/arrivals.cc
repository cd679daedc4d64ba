#include "loadgen/arrivals.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "ferry/check.h"
#include "loadgen/duration_units.h"
#include "loadgen/option_text.h"
#include "loadgen/uniform.h"

namespace ferry {

namespace {

using Gaps = ArrivalPattern::Gaps;
using Profile = ArrivalPattern::Profile;

// The times, in seconds from the start, by which `expected` requests are due.

double OnOffTime(const ArrivalPattern& pattern, double expected) {
  const double on = Seconds(pattern.on);
  const double cycle = on + Seconds(pattern.off);
  const double per_cycle = pattern.rate * cycle;
  const double cycles = std::floor(expected / per_cycle);
  return cycles * cycle + (expected - cycles * per_cycle) / per_cycle * on;
}

double RampTime(const ArrivalPattern& pattern, double expected) {
  const double ramp = Seconds(pattern.ramp);
  const double during = (pattern.rate + pattern.end_rate) / 2 * ramp;
  if (expected >= during) return ramp + (expected - during) / pattern.end_rate;
  // The root of rate * t + slope / 2 * t^2 = expected, in the form that stands a slope of nought.
  const double slope = (pattern.end_rate - pattern.rate) / ramp;
  const double root = std::sqrt(std::max(pattern.rate * pattern.rate + 2 * slope * expected, 0.0));
  return 2 * expected / (pattern.rate + root);
}

double StepTime(const ArrivalPattern& pattern, double expected) {
  const double step = Seconds(pattern.step);
  double begin = 0;
  for (const double rate : pattern.step_rates) {
    if (expected < rate * step) return begin + expected / rate;
    expected -= rate * step;
    begin += step;
  }
  return begin + expected / pattern.step_rates.back();
}

double TimeOf(const ArrivalPattern& pattern, double expected) {
  switch (pattern.profile) {
    case Profile::kOnOff:
      return OnOffTime(pattern, expected);
    case Profile::kRamp:
      return RampTime(pattern, expected);
    case Profile::kSteps:
      return StepTime(pattern, expected);
    case Profile::kFlat:
      break;
  }
  return expected / pattern.rate;
}

Status Wrong(std::string_view text, std::string_view what) {
  return InvalidArgumentError(StrCat("arrivals ", Quoted(text), ": ", what));
}

constexpr std::string_view kAllowed =
    "expected constant, poisson, gamma:SHAPE, on-off:ON,OFF, ramp:END_RATE[,OVER], step:LENGTH,RATE,..., or one of the "
    "first three and one of the others with a + between them";

bool ReadPositive(std::string_view text, double& number) {
  const std::optional<double> parsed = ParseReal(text);
  if (!parsed || *parsed <= 0) return false;
  number = *parsed;
  return true;
}

bool ReadPositive(std::string_view text, Duration& duration) {
  const std::optional<Duration> parsed = ParseDuration(text);
  if (!parsed || *parsed <= Duration::zero()) return false;
  duration = *parsed;
  return true;
}

using Values = std::vector<std::string_view>;

Status ReadGamma(const Values& values, ArrivalPattern& pattern) {
  // Beyond these, gaps are all alike or nearly all nought, and their quantiles lose their digits.
  if (values.size() == 1 && ReadPositive(values[0], pattern.shape) && pattern.shape >= 0.01 && pattern.shape <= 1000) {
    return {};
  }
  return Wrong(StrCat("gamma:", StrJoin(values, ",")), "expected gamma:SHAPE with a shape from 0.01 to 1000");
}

Status ReadOnOff(const Values& values, ArrivalPattern& pattern) {
  pattern.profile = Profile::kOnOff;
  if (values.size() == 2 && ReadPositive(values[0], pattern.on) && ReadPositive(values[1], pattern.off)) return {};
  return Wrong(StrCat("on-off:", StrJoin(values, ",")),
               "expected on-off:ON,OFF with two durations, as in on-off:200ms,800ms");
}

Status ReadRamp(const Values& values, Duration length, ArrivalPattern& pattern) {
  pattern.profile = Profile::kRamp;
  pattern.ramp = length;
  const bool rate = ReadPositive(values[0], pattern.end_rate);
  if (rate && (values.size() == 1 || (values.size() == 2 && ReadPositive(values[1], pattern.ramp)))) return {};
  return Wrong(StrCat("ramp:", StrJoin(values, ",")),
               "expected ramp:END_RATE or ramp:END_RATE,OVER with a rate above 0 and a duration, as in ramp:500,30s");
}

Status ReadSteps(const Values& values, ArrivalPattern& pattern) {
  pattern.profile = Profile::kSteps;
  bool right = values.size() >= 2 && ReadPositive(values[0], pattern.step);
  for (size_t i = 1; right && i < values.size(); ++i) {
    right = ReadPositive(values[i], pattern.step_rates.emplace_back());
  }
  if (right) return {};
  return Wrong(StrCat("step:", StrJoin(values, ",")),
               "expected step:LENGTH,RATE,... with a duration and rates above 0, as in step:2s,100,200");
}

// One side of a "+". `plain` is whether the name has nothing after it.
Status ReadPart(std::string_view part, Duration length, ArrivalPattern& pattern) {
  const size_t colon = part.find(':');
  const bool plain = colon == std::string_view::npos;
  const std::string_view name = part.substr(0, colon);
  const Values values = Split(plain ? "" : part.substr(colon + 1), ',');
  if (name == "gamma") return ReadGamma(values, pattern);
  if (name == "on-off") return ReadOnOff(values, pattern);
  if (name == "ramp") return ReadRamp(values, length, pattern);
  if (name == "step") return ReadSteps(values, pattern);
  if (!plain || (name != "constant" && name != "poisson")) return Wrong(part, kAllowed);
  if (name == "constant") pattern.gaps = Gaps::kConstant;
  return {};
}

bool NamesProfile(std::string_view part) {
  return part.starts_with("on-off") || part.starts_with("ramp") || part.starts_with("step");
}

}  // namespace

std::string ArrivalPattern::Name() const {
  if (profile == Profile::kOnOff) return "on-off";
  if (profile == Profile::kRamp) return "ramp";
  if (profile == Profile::kSteps) return "step";
  if (gaps == Gaps::kConstant) return "constant";
  return shape == 1 ? "poisson" : "gamma";
}

double ArrivalPattern::MeanRate(Duration length) const {
  const double all = Seconds(length);
  if (profile == Profile::kFlat || profile == Profile::kOnOff || all <= 0) return rate;
  if (profile == Profile::kRamp) {
    const double during = std::min(all, Seconds(ramp));
    const double reached = rate + (end_rate - rate) * during / Seconds(ramp);
    return ((rate + reached) / 2 * during + end_rate * (all - during)) / all;
  }
  double expected = 0;
  double left = all;
  for (const double step_rate : step_rates) {
    const double spent = std::min(left, Seconds(step));
    expected += step_rate * spent;
    left -= spent;
  }
  return (expected + step_rates.back() * left) / all;
}

Result<ArrivalPattern> ParseArrivals(std::string_view text, double rate, Duration length) {
  if (!(rate > 0) || !std::isfinite(rate))
    return InvalidArgumentError(StrCat("request rate ", rate, " is not above 0"));
  ArrivalPattern pattern;
  pattern.rate = rate;
  std::vector<std::string_view> parts = {text};
  // Exponents may have a "+" too: the one that separates comes before the name of a profile.
  size_t plus = text.find('+');
  while (plus != std::string_view::npos && !NamesProfile(text.substr(plus + 1))) plus = text.find('+', plus + 1);
  if (plus != std::string_view::npos && !NamesProfile(text)) parts = {text.substr(0, plus), text.substr(plus + 1)};
  for (const std::string_view part : parts) FERRY_RETURN_IF_ERROR(ReadPart(part, length, pattern));
  if (pattern.profile == Profile::kRamp && pattern.ramp <= Duration::zero()) {
    return Wrong(text, "say over how long, as in ramp:500,30s: the load itself has no length");
  }
  return pattern;
}

Arrivals::Arrivals(ArrivalPattern pattern, uint64_t seed) : pattern_(std::move(pattern)), random_(seed) {
  FERRY_CHECK(pattern_.rate > 0 && pattern_.shape > 0, "rates and shapes are positive");
}

double Arrivals::NextGap() {
  if (pattern_.gaps == Gaps::kConstant) return std::exchange(first_, false) ? 0 : 1;
  const double unit = UniformUnit(random_);
  if (pattern_.shape == 1) return -std::log1p(-unit);
  // By its quantile function, so that each request takes one draw whatever the shape.
  // Digits beyond a double's would take most of the time.
  using Doubles = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  return boost::math::gamma_p_inv(pattern_.shape, unit, Doubles()) / pattern_.shape;
}

Duration Arrivals::Next() {
  expected_ += NextGap();
  const std::optional<Duration> due = DurationOfSeconds(TimeOf(pattern_, expected_));
  return due ? *due : Duration::max();
}

}  // namespace ferry
