#ifndef FERRY_LOADGEN_RUN_COMPARISON_H_
#define FERRY_LOADGEN_RUN_COMPARISON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

// The runs of one side of a comparison.
struct RunFigures {
  std::vector<double> runs;     // one figure a run, a throughput or a quantile of the latency
  std::vector<double> seconds;  // the figures of the seconds in the order of time, where there is one run alone
};

struct ComparisonOptions {
  enum class Better { kHigher, kLower };
  Better better = Better::kHigher;  // of two figures: higher for throughputs, lower for latencies
  double threshold = 0.02;          // a smaller difference does not matter, however sure it is
  double confidence = 0.95;
  // By how much single runs of one and the same server differ, as a share of their mean (standard deviation). One run
  // cannot show that, so it must be known: with one run a side, the interval is made wider accordingly. Default: 1 %.
  double run_to_run = 0.01;
  uint64_t seed = 1;
  int resamples = 5000;
};

struct Comparison {
  enum class Verdict {
    kSame,           // no difference beyond the threshold could be shown; see `detectable`
    kSlower,         // the new side is worse: by the threshold at least, and surely by something
    kFaster,         // it is better, likewise
    kTooFewToSay,    // too few runs or seconds, or figures that are no positive numbers: `ratio` may be all there is
    kTooNoisyToSay,  // even a difference of five thresholds could have gone unseen
  };
  Verdict verdict = Verdict::kTooFewToSay;
  double ratio = 0;  // of the means, new to baseline; 0: there is none
  // With the confidence asked for, the true ratio is between these.
  double low = 0;
  double high = 0;
  // The difference, as a share, that would have had to be there to be shown: half the width of the interval, or the
  // threshold if that is more.
  double detectable = 0;
  std::string explanation;
};

std::string_view VerdictName(Comparison::Verdict verdict);

// Compares a new set of runs with a baseline's, by a bootstrap of the ratio of the means. It needs 4 runs a side and 10
// are better: with 3 % of noise from run to run, a difference of 5 % is not reliably seen with fewer. With exactly one
// run on either side it looks at their seconds instead (20 a side at least, in blocks, because neighbouring ones
// resemble each other); this is weaker evidence, because it must assume how much runs differ.
//
// The same figures and options give the same result. Of comparisons without a difference, 1 - confidence at most are
// called slower or faster, if the runs were independent of each other: alternate between both sides when you make them.
// REQUIRES: 0 < confidence < 1, threshold >= 0, resamples >= 100.
Comparison CompareRuns(const RunFigures& baseline, const RunFigures& fresh, const ComparisonOptions& options = {});

}  // namespace ferry

#endif  // FERRY_LOADGEN_RUN_COMPARISON_H_
