#ifndef FERRY_LOADGEN_SLO_SEARCH_H_
#define FERRY_LOADGEN_SLO_SEARCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ferry/clock.h"
#include "loadgen/bench_result.h"

namespace ferry {

struct SloOptions {
  double quantile = 0.99;
  Duration bound{};           // what the quantile must not exceed
  double first_rate = 100;    // requests per second. A guess: concurrency over latency, say
  double lowest_rate = 1;     // below it the search gives up. Short runs at a low rate take long
  double highest_rate = 1e6;  // above it the search does not go
  double resolution = 0.02;   // how far the lowest rate that failed may be above the highest that passed, at the end
  double confidence = 0.99;   // with which a short run is judged before it has reached its cap
  // Requests of a short run, at least and over all its extensions. Default: as many as show the quantile with no miss
  // (459 for p99), and 20 times that.
  uint64_t fewest_requests = 0;
  uint64_t most_requests = 0;
  // Requests of a long run, at least. Default: 80 times as many as show the quantile, and no fewer than 40,000. Where a
  // queue makes them, requests over a bound come in bursts of dozens; it takes dozens of bursts to find a rate to 3 %.
  uint64_t confirm_requests = 0;
  int confirm_runs = 3;  // an odd number; the majority decides, and the rest is not run
  int most_probes = 200;
};

// One run to do: this many requests per second, after a warm-up that does not count.
struct Probe {
  double rate = 0;
  uint64_t at_least = 0;  // requests that must count, unless the run fails before
  uint64_t at_most = 0;   // more would be wasted
  uint64_t hopeless = 0;  // when so many of the first `at_least` are over the bound, the run has failed and may end
  bool confirms = false;  // it is a long run, which decides about a rate for good
  int number = 0;         // from 0; give each its own seed
};

// What came of it.
struct ProbeResult {
  uint64_t requests = 0;       // that were due and count, failed and dropped ones included
  uint64_t over = 0;           // answered with OK but later than the bound
  uint64_t failed = 0;         // dropped ones included
  uint64_t dropped = 0;        // by the generator's cap on outstanding requests
  bool lateness_valid = true;  // the generator sent in time; otherwise the run says nothing of the server
  bool backlog_grows = false;  // the server does not keep up, whatever the quantile still is
};

// SloSearch finds the highest rate at which a quantile of the latency is within a bound. It decides what to run;
// somebody else runs it: Next() gives a probe, Report() takes what came of it, until Next() gives nothing.
//
// The rate is doubled or halved from the first one until one passed and one failed, then bisected by short runs. A
// short run is as long as it needs to be to pass or to fail with the confidence asked for, and at its cap it is judged
// by the share of requests over the bound as it is. Failed requests are over the bound. Such verdicts are often wrong
// near the answer, where the requests wait together and are anything but independent, and wherever something disturbs
// the machine. So they only guide the search, and both ends of what is left are put to the test of long runs: the
// majority of `confirm_runs` decides, by the share over the bound. A passed rate that fails there becomes the upper end
// and the search steps down; a failed one that passes becomes the lower end and the search steps up. It ends with a
// rate that passed and one that failed, both by long runs and no further apart than the resolution. Thus no single run,
// unlucky or lucky, short or long, settles anything.
//
// With the defaults and simulated queues, about 1 search in 500 is off by more than 3 %, and a p99 takes 300,000
// requests.
//
// A run in which the generator was late is repeated, twice at most; then its rate is the highest that can be looked at,
// and the explanation says so.
//
// Threading: one thread at a time.
class SloSearch {
 public:
  // REQUIRES: 0 < quantile < 1, 0 < lowest_rate <= first_rate <= highest_rate, resolution > 0.
  explicit SloSearch(const SloOptions& options);

  // The run to do now, the same until it is reported; nothing when the search is over.
  std::optional<Probe> Next() const;

  // REQUIRES: Next() gave something, which this is the result of.
  void Report(const ProbeResult& result);

  // What is known so far; the answer once Next() gives nothing. `lowest_failed` is no failure of the generator.
  ObjectiveResult Result() const;

 private:
  // A rate with a verdict, and what it is based on.
  struct Tried {
    double rate = 0;
    bool confirmed = false;       // by long runs
    bool backlog = false;         // was seen to grow
    bool late_generator = false;  // failed for this alone
    int runs = 0;
    int agreeing = 0;  // of them, with the verdict
    uint64_t requests = 0;
    uint64_t over = 0;
  };
  // A rate without one.
  struct Trial {
    double rate = 0;
    bool confirms = false;
    int passed = 0;  // long runs
    int failed = 0;
    int late = 0;
    Tried seen;
  };

  uint64_t RequestsNeeded() const;
  bool NarrowEnough() const;
  std::optional<Trial> NextTrial() const;
  std::optional<bool> VerdictOfShortRun(bool run_failed);
  std::optional<bool> VerdictOfLongRun(bool run_failed);
  void Conclude(bool passed);
  std::string Explain() const;
  std::string Describe(const Tried& tried) const;

  const SloOptions options_;
  std::vector<Tried> passed_;   // in ascending order: the last one is the lower end
  std::vector<Tried> failed_;   // in descending order: the last one is the upper end
  std::optional<Trial> trial_;  // nothing once the search is over
  int probes_ = 0;
  int overturned_ = 0;  // verdicts of short runs, by long ones
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_SLO_SEARCH_H_
