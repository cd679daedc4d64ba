#include "loadgen/arrivals.h"

#include <gmock/gmock.h>

#include <cmath>

namespace ferry {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

ArrivalPattern Parsed(std::string_view text, double rate = 100, Duration length = seconds(10)) {
  Result<ArrivalPattern> pattern = ParseArrivals(text, rate, length);
  EXPECT_TRUE(pattern.ok()) << pattern.status().ToString();
  return pattern.ok() ? *pattern : ArrivalPattern{};
}

std::string ErrorOf(std::string_view text, double rate = 100, Duration length = seconds(10)) {
  return ParseArrivals(text, rate, length).status().message();
}

std::vector<Duration> Times(const ArrivalPattern& pattern, size_t count, uint64_t seed = 1) {
  Arrivals arrivals(pattern, seed);
  std::vector<Duration> times(count);
  for (Duration& time : times) time = arrivals.Next();
  return times;
}

size_t CountIn(const std::vector<Duration>& times, Duration begin, Duration end) {
  return static_cast<size_t>(std::ranges::count_if(times, [&](Duration at) { return at >= begin && at < end; }));
}

struct GapMoments {
  double mean = 0;
  double variation = 0;  // squared coefficient of variation
};

GapMoments MomentsOf(const std::vector<Duration>& times) {
  double sum = 0;
  double squares = 0;
  Duration before{};
  for (const Duration at : times) {
    const double gap = std::chrono::duration<double>(at - before).count();
    sum += gap;
    squares += gap * gap;
    before = at;
  }
  const double mean = sum / static_cast<double>(times.size());
  return {mean, squares / static_cast<double>(times.size()) / (mean * mean) - 1};
}

TEST(ArrivalsTest, ConstantOnesAreMultiplesOfTheGapWithoutDrift) {
  const std::vector<Duration> times = Times(Parsed("constant", 3), 3'000'001);
  EXPECT_EQ(times[0], Duration::zero());
  EXPECT_EQ(times[1], nanoseconds(333'333'333));
  EXPECT_EQ(times[2], nanoseconds(666'666'667));
  EXPECT_EQ(times[3'000'000], seconds(1'000'000));
}

TEST(ArrivalsTest, ConstantOnesFillEveryWindowAlike) {
  const std::vector<Duration> times = Times(Parsed("constant", 50), 500);
  for (milliseconds begin{0}; begin < seconds(10); begin += milliseconds(200)) {
    EXPECT_EQ(CountIn(times, begin, begin + milliseconds(200)), 10u) << begin.count();
  }
}

TEST(ArrivalsTest, PoissonGapsHaveTheMeanAndTheVarianceOfAnExponential) {
  const GapMoments gaps = MomentsOf(Times(Parsed("poisson", 200), 200'000));
  EXPECT_NEAR(gaps.mean, 0.005, 0.005 * 0.01);
  EXPECT_NEAR(gaps.variation, 1, 0.03);
}

// The counts of a Poisson process in windows have a variance like their mean.
TEST(ArrivalsTest, PoissonCountsInWindowsVaryAsTheyShould) {
  const std::vector<Duration> times = Times(Parsed("poisson", 1000), 100'000);
  double sum = 0;
  double squares = 0;
  std::vector<double> counts(900);
  for (const Duration at : times) {
    const auto window = static_cast<size_t>(at / milliseconds(100));
    if (window < counts.size()) ++counts[window];
  }
  for (const double count : counts) sum += count;
  const double mean = sum / 900;
  for (const double count : counts) squares += (count - mean) * (count - mean);
  EXPECT_NEAR(mean, 100, 2);
  EXPECT_NEAR(squares / 899 / mean, 1, 0.2);
}

TEST(ArrivalsTest, GammaGapsHaveTheMeanOfTheRateAndTheVariationOfTheShape) {
  for (const double shape : {0.25, 0.5, 4.0, 100.0}) {
    ArrivalPattern pattern = Parsed("gamma:2", 50);
    pattern.shape = shape;
    const GapMoments gaps = MomentsOf(Times(pattern, 100'000));
    EXPECT_NEAR(gaps.mean, 0.02, 0.02 * 0.02) << shape;
    EXPECT_NEAR(gaps.variation, 1 / shape, 0.06 / shape) << shape;
  }
}

TEST(ArrivalsTest, TheSeedAloneDecides) {
  for (const char* const text : {"poisson", "gamma:0.5", "on-off:200ms,800ms"}) {
    EXPECT_EQ(Times(Parsed(text), 100, 7), Times(Parsed(text), 100, 7)) << text;
    EXPECT_NE(Times(Parsed(text), 100, 7), Times(Parsed(text), 100, 8)) << text;
  }
}

// mt19937_64 with seed 1 begins with 2469588189546311528; the exponential's quantile of that share of 2^64 follows.
TEST(ArrivalsTest, TheFirstPoissonTimeIsTheOneThatAnyMachineComputes) {
  const double unit = std::floor(2469588189546311528.0 / 2048) / 9007199254740992.0;
  const auto expected = nanoseconds(std::llround(-std::log1p(-unit) * 1e9));
  EXPECT_EQ(Times(Parsed("poisson", 1), 1)[0], expected);
}

TEST(ArrivalsTest, BurstsKeepTheMeanRateAndThePauses) {
  const std::vector<Duration> times = Times(Parsed("on-off:200ms,800ms", 100), 20'000);
  size_t in_pauses = 0;
  for (const Duration at : times) in_pauses += at % seconds(1) >= milliseconds(200) ? 1 : 0;
  EXPECT_EQ(in_pauses, 0u);
  EXPECT_NEAR(static_cast<double>(CountIn(times, seconds(0), seconds(150))), 15'000, 500);
}

TEST(ArrivalsTest, ConstantBurstsAreExact) {
  const std::vector<Duration> times = Times(Parsed("constant+on-off:200ms,800ms", 10), 12);
  EXPECT_EQ(times[0], Duration::zero());
  EXPECT_EQ(times[1], milliseconds(20));
  EXPECT_EQ(times[9], milliseconds(180));
  EXPECT_EQ(times[10], seconds(1));
  EXPECT_EQ(times[11], milliseconds(1020));
}

TEST(ArrivalsTest, ARampGoesEvenlyFromOneRateToTheOther) {
  // 100/s to 300/s over 10 s: 100 t + 10 t^2 requests by t, and 300/s from then on.
  const std::vector<Duration> times = Times(Parsed("constant+ramp:300", 100), 5000);
  EXPECT_EQ(CountIn(times, seconds(0), seconds(1)), 110u);
  EXPECT_EQ(CountIn(times, seconds(0), seconds(5)), 750u);
  EXPECT_EQ(CountIn(times, seconds(0), seconds(10)), 2000u);
  EXPECT_EQ(CountIn(times, seconds(10), seconds(12)), 600u);
}

TEST(ArrivalsTest, ARampMayGoDownOrNotAtAll) {
  EXPECT_EQ(CountIn(Times(Parsed("constant+ramp:100,2s", 300), 5000), seconds(0), seconds(2)), 400u);
  EXPECT_EQ(CountIn(Times(Parsed("constant+ramp:100,2s", 100), 5000), seconds(0), seconds(3)), 300u);
}

TEST(ArrivalsTest, StepsFollowOneAnotherAndTheLastGoesOn) {
  const std::vector<Duration> times = Times(Parsed("constant+step:2s,100,200,50", 1), 5000);
  EXPECT_EQ(CountIn(times, seconds(0), seconds(2)), 200u);
  EXPECT_EQ(CountIn(times, seconds(2), seconds(4)), 400u);
  EXPECT_EQ(CountIn(times, seconds(4), seconds(6)), 100u);
  EXPECT_EQ(CountIn(times, seconds(6), seconds(16)), 500u);
}

TEST(ArrivalsTest, TimesNeverGoBack) {
  for (const char* const text : {"poisson", "gamma:0.05", "ramp:1000", "ramp:1", "step:1s,10,1000", "on-off:1ms,1s"}) {
    const std::vector<Duration> times = Times(Parsed(text), 20'000);
    EXPECT_TRUE(std::ranges::is_sorted(times)) << text;
  }
}

TEST(ArrivalsTest, MeanRatesAreThoseOfTheTime) {
  EXPECT_DOUBLE_EQ(Parsed("poisson").MeanRate(seconds(10)), 100);
  EXPECT_DOUBLE_EQ(Parsed("on-off:1s,1s").MeanRate(seconds(10)), 100);
  EXPECT_DOUBLE_EQ(Parsed("ramp:300").MeanRate(seconds(10)), 200);
  EXPECT_DOUBLE_EQ(Parsed("ramp:300").MeanRate(seconds(5)), 150);
  EXPECT_DOUBLE_EQ(Parsed("ramp:300,5s").MeanRate(seconds(10)), 250);
  EXPECT_DOUBLE_EQ(Parsed("step:2s,100,200").MeanRate(seconds(10)), 180);
  EXPECT_DOUBLE_EQ(Parsed("step:2s,100,200").MeanRate(seconds(1)), 100);
}

TEST(ArrivalsTest, ParsesGapsAndProfiles) {
  EXPECT_EQ(Parsed("constant").Name(), "constant");
  EXPECT_EQ(Parsed("poisson").Name(), "poisson");
  EXPECT_EQ(Parsed("gamma:1").Name(), "poisson");
  EXPECT_EQ(Parsed("gamma:5e-1").shape, 0.5);
  EXPECT_EQ(Parsed("step:1s,2,3").Name(), "step");
  const ArrivalPattern both = Parsed("gamma:1e+1+ramp:500");  // the exponent's sign separates nothing
  EXPECT_EQ(both.Name(), "ramp");
  EXPECT_EQ(both.shape, 10);
  EXPECT_EQ(both.end_rate, 500);
  EXPECT_EQ(both.ramp, seconds(10));
}

TEST(ArrivalsTest, ErrorsNameTheValueAndWhatIsAllowed) {
  EXPECT_EQ(ErrorOf("uniform"),
            "arrivals 'uniform': expected constant, poisson, gamma:SHAPE, on-off:ON,OFF, ramp:END_RATE[,OVER], "
            "step:LENGTH,RATE,..., or one of the first three and one of the others with a + between them");
  EXPECT_EQ(ErrorOf("gamma:0"), "arrivals 'gamma:0': expected gamma:SHAPE with a shape from 0.01 to 1000");
  EXPECT_EQ(ErrorOf("on-off:200,800"),
            "arrivals 'on-off:200,800': expected on-off:ON,OFF with two durations, as in on-off:200ms,800ms");
  EXPECT_EQ(
      ErrorOf("ramp:0,30s"),
      "arrivals 'ramp:0,30s': expected ramp:END_RATE or ramp:END_RATE,OVER with a rate above 0 and a duration, as in "
      "ramp:500,30s");
  EXPECT_EQ(ErrorOf("ramp:500", 100, Duration::zero()),
            "arrivals 'ramp:500': say over how long, as in ramp:500,30s: the load itself has no length");
  EXPECT_EQ(ErrorOf("step:2s,100,-1"),
            "arrivals 'step:2s,100,-1': expected step:LENGTH,RATE,... with a duration and rates above 0, as in "
            "step:2s,100,200");
  EXPECT_EQ(ErrorOf("poisson", 0), "request rate 0 is not above 0");
  EXPECT_THAT(ErrorOf("poisson:3"), ::testing::HasSubstr("'poisson:3'"));
  EXPECT_THAT(ErrorOf("constant+poisson"), ::testing::HasSubstr("expected constant"));
  EXPECT_THAT(ErrorOf("ramp:500+ramp:500"), ::testing::HasSubstr("ramp:END_RATE"));
}

}  // namespace
}  // namespace ferry
