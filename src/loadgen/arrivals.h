#ifndef FERRY_LOADGEN_ARRIVALS_H_
#define FERRY_LOADGEN_ARRIVALS_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/clock.h"
#include "ferry/status.h"

namespace ferry {

// ArrivalPattern says when the requests of an open loop are due, whatever becomes of them: how the gaps between them vary,
// and how their rate changes over the time of the load.
struct ArrivalPattern {
  enum class Gaps {
    kConstant,  // all alike; the first request is due at once
    kGamma,     // gamma-distributed with this `shape`: less even than Poisson arrivals below 1, more even above
  };
  enum class Profile {
    kFlat,   // `rate`
    kOnOff,  // nothing for `off` after each burst of `on`, whose rate is so much higher that the mean is `rate`
    kRamp,   // from `rate` evenly to `end_rate` over `ramp`, and on at that
    kSteps,  // each of `step_rates` for `step`, and on at the last
  };
  Gaps gaps = Gaps::kGamma;
  double shape = 1;  // 1 is Poisson; the squared coefficient of variation is its inverse (vLLM calls it burstiness)
  Profile profile = Profile::kFlat;
  double rate = 1;  // requests per second
  Duration on{};
  Duration off{};
  double end_rate = 0;
  Duration ramp{};
  Duration step{};
  std::vector<double> step_rates;

  // "constant", "poisson", "gamma", "on-off", "ramp" or "step".
  std::string Name() const;

  // Requests per second on average over the first `length` of a load; of bursts, over whole ones.
  double MeanRate(Duration length) const;
};

// Reads a pattern from text, for a mean (or first) rate of `rate` and a load of `length`:
//   constant                   the gaps
//   poisson
//   gamma:SHAPE                as in gamma:0.5
//   on-off:ON,OFF              the profile, as in on-off:200ms,800ms
//   ramp:END_RATE[,OVER]       over all of the load unless it says how long: ramp:500, ramp:500,30s
//   step:LENGTH,RATE,RATE,...  as in step:2s,100,200
//   GAPS+PROFILE               both, as in constant+ramp:500; a profile alone has Poisson arrivals
//
// Errors: INVALID_ARGUMENT, with what is allowed.
Result<ArrivalPattern> ParseArrivals(std::string_view text, double rate, Duration length);

// Arrivals gives out the times at which requests are due, from the start of the load, in order and without end.
//
// Guarantees: the same seed gives the same times, with every standard library. Times are computed from the start, not from
//             the one before, so they do not drift: of constant gaps at a flat rate, the k-th, counted from 0, is k / rate.
// Threading:  one thread at a time.
class Arrivals {
 public:
  // REQUIRES: `pattern` is as ParseArrivals() gives it: rates, shape and durations are positive.
  Arrivals(ArrivalPattern pattern, uint64_t seed);

  // When the next request is due; Duration::max() when that is more than 292 years off. Takes less than 0.1 us, but about one
  // where the shape is not 1.
  Duration Next();

 private:
  double NextGap();

  const ArrivalPattern pattern_;
  std::mt19937_64 random_;
  // Requests expected up to the next one. Gaps are drawn for a rate of one, and the profile turns counts into times.
  double expected_ = 0;
  bool first_ = true;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_ARRIVALS_H_
