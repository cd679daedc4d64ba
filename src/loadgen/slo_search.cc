#include "loadgen/slo_search.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

#include "base/strings.h"
#include "ferry/check.h"
#include "loadgen/duration_units.h"
#include "loadgen/quantile_statistics.h"

namespace ferry {

namespace {

constexpr int kMostLateRuns = 3;

SloOptions WithDefaults(SloOptions options) {
  FERRY_CHECK(options.quantile > 0 && options.quantile < 1, "a quantile is between 0 and 1");
  FERRY_CHECK(0 < options.lowest_rate && options.lowest_rate <= options.first_rate, "the first rate is not the lowest");
  FERRY_CHECK(options.first_rate <= options.highest_rate, "the first rate is within the limits");
  FERRY_CHECK(options.resolution > 0, "rates cannot be told apart without end");
  const uint64_t needed = SamplesNeeded(options.quantile, 0, options.confidence);
  if (options.fewest_requests == 0) options.fewest_requests = needed;
  if (options.most_requests == 0) options.most_requests = 20 * needed;
  if (options.confirm_requests == 0) options.confirm_requests = std::max<uint64_t>(80 * needed, 40'000);
  options.most_requests = std::max(options.most_requests, options.fewest_requests);
  options.confirm_runs = std::max(options.confirm_runs, 1);
  return options;
}

// The fewest requests over the bound with which the quantile of so many cannot be within it, with this confidence.
uint64_t FewestThatFail(uint64_t requests, double quantile, double confidence) {
  uint64_t low = 0;
  uint64_t high = requests;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (JudgeQuantile(requests, middle, quantile, confidence) == Judgement::kFail) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

std::string Number(double value) {
  std::ostringstream out;
  out << std::setprecision(4) << value;
  return std::move(out).str();
}

// Rates are given to a tenth, whole ones from 1,000 on.
std::string Rate(double rate) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(rate < 1000 ? 1 : 0) << rate << "/s";
  return std::move(out).str();
}

}  // namespace

SloSearch::SloSearch(const SloOptions& options) : options_(WithDefaults(options)), trial_(NextTrial()) {}

std::optional<Probe> SloSearch::Next() const {
  if (!trial_) return std::nullopt;
  Probe probe{.rate = trial_->rate, .confirms = trial_->confirms, .number = probes_};
  if (trial_->confirms) {
    probe.at_least = options_.confirm_requests;
    probe.at_most = 4 * probe.at_least;
    probe.hopeless = static_cast<uint64_t>((1 - options_.quantile) * static_cast<double>(probe.at_least)) + 1;
    return probe;
  }
  // Each extension doubles what there is, so that the verdict is not looked for too often: each look may err.
  const uint64_t done = trial_->seen.requests;
  probe.at_most = options_.most_requests - done;
  probe.at_least = std::min(std::max(options_.fewest_requests, done), probe.at_most);
  const uint64_t fails = FewestThatFail(done + probe.at_least, options_.quantile, options_.confidence);
  probe.hopeless = std::max<uint64_t>(1, fails - std::min(fails, trial_->seen.over));
  return probe;
}

void SloSearch::Report(const ProbeResult& result) {
  FERRY_CHECK(trial_.has_value(), "a result belongs to a probe");
  ++probes_;
  std::optional<bool> passed;
  if (!result.lateness_valid || result.requests == 0) {
    if (++trial_->late >= kMostLateRuns) {
      trial_->seen.late_generator = true;
      passed = false;
    }
  } else {
    const uint64_t over = std::min(result.requests, result.over + result.failed);
    const double allowed = (1 - options_.quantile) * static_cast<double>(result.requests);
    trial_->seen.requests += result.requests;
    trial_->seen.over += over;
    trial_->seen.backlog = trial_->seen.backlog || result.backlog_grows;
    ++trial_->seen.runs;
    passed = trial_->confirms ? VerdictOfLongRun(result.backlog_grows || static_cast<double>(over) > allowed)
                              : VerdictOfShortRun(result.backlog_grows);
  }
  if (passed) Conclude(*passed);
  if (probes_ >= options_.most_probes) trial_.reset();
}

// Nothing while more requests are needed.
std::optional<bool> SloSearch::VerdictOfShortRun(bool run_failed) {
  if (run_failed) return false;
  const Tried& seen = trial_->seen;
  switch (JudgeQuantile(seen.requests, seen.over, options_.quantile, options_.confidence)) {
    case Judgement::kPass:
      return true;
    case Judgement::kFail:
      return false;
    case Judgement::kUndecided:
      break;
  }
  if (seen.requests < options_.most_requests) return std::nullopt;
  return static_cast<double>(seen.over) <= (1 - options_.quantile) * static_cast<double>(seen.requests);
}

// Nothing while neither side has the majority.
std::optional<bool> SloSearch::VerdictOfLongRun(bool run_failed) {
  ++(run_failed ? trial_->failed : trial_->passed);
  const int majority = options_.confirm_runs / 2 + 1;
  if (trial_->passed >= majority) return true;
  if (trial_->failed >= majority) return false;
  return std::nullopt;
}

void SloSearch::Conclude(bool passed) {
  Tried tried = trial_->seen;
  tried.rate = trial_->rate;
  tried.agreeing = trial_->confirms ? (passed ? trial_->passed : trial_->failed) : tried.runs;
  tried.confirmed = trial_->confirms || tried.late_generator;
  if (trial_->confirms) {
    // It was one of the ends until now.
    const bool had_passed = !passed_.empty() && passed_.back().rate == tried.rate;
    (had_passed ? passed_ : failed_).pop_back();
    if (had_passed != passed) ++overturned_;
  }
  (passed ? passed_ : failed_).push_back(tried);
  trial_ = NextTrial();
}

bool SloSearch::NarrowEnough() const { return failed_.back().rate <= passed_.back().rate * (1 + options_.resolution); }

// Where both ends are known and near enough, they are confirmed, the lower one first: it is the answer.
std::optional<SloSearch::Trial> SloSearch::NextTrial() const {
  const auto confirm = [](const Tried& end) -> std::optional<Trial> {
    if (end.confirmed) return std::nullopt;
    return Trial{.rate = end.rate, .confirms = true, .seen = {}};
  };
  const auto look_at = [](double rate) { return Trial{.rate = rate, .seen = {}}; };
  if (passed_.empty() && failed_.empty()) return look_at(options_.first_rate);
  if (failed_.empty()) {
    if (passed_.back().rate >= options_.highest_rate) return confirm(passed_.back());
    return look_at(std::min(passed_.back().rate * 2, options_.highest_rate));
  }
  if (passed_.empty()) {
    if (failed_.back().rate <= options_.lowest_rate) return confirm(failed_.back());
    return look_at(std::max(failed_.back().rate / 2, options_.lowest_rate));
  }
  if (!NarrowEnough()) return look_at(std::sqrt(passed_.back().rate * failed_.back().rate));
  if (auto trial = confirm(passed_.back())) return trial;
  return confirm(failed_.back());
}

ObjectiveResult SloSearch::Result() const {
  ObjectiveResult result;
  result.quantile = options_.quantile;
  result.bound = options_.bound;
  const auto confirmed = std::find_if(passed_.rbegin(), passed_.rend(), [](const Tried& t) { return t.confirmed; });
  if (confirmed != passed_.rend()) result.highest_rate = confirmed->rate;
  const auto failed = std::find_if(failed_.rbegin(), failed_.rend(), [](const Tried& t) { return !t.late_generator; });
  if (failed != failed_.rend()) result.lowest_failed = failed->rate;
  result.explanation = Explain();
  return result;
}

std::string SloSearch::Describe(const Tried& tried) const {
  if (tried.late_generator) {
    return StrCat("at ", Rate(tried.rate),
                  " the load generator itself is late: the server may bear more than can be offered");
  }
  const double share =
      100.0 * static_cast<double>(tried.over) / static_cast<double>(std::max<uint64_t>(tried.requests, 1));
  std::string text =
      StrCat(Rate(tried.rate), " in ", tried.agreeing, " of ", tried.runs, tried.confirmed ? " long" : " short",
             " runs: ", Number(share), " % of ", tried.requests, " requests over the bound in all");
  if (tried.backlog) text += ", with a backlog that grows";
  const Judgement judgement = JudgeQuantile(tried.requests, tried.over, options_.quantile, options_.confidence);
  const bool disputed = tried.agreeing < tried.runs || judgement == Judgement::kUndecided;
  if (disputed && !tried.backlog) text += ", a close call";
  return text;
}

std::string SloSearch::Explain() const {
  const double milliseconds = Milliseconds(options_.bound);
  std::string text = StrCat("p", Number(options_.quantile * 100), " within ", Number(milliseconds), " ms allows ",
                            Number(100 * (1 - options_.quantile)), " % of the requests to be over it. ");
  text += passed_.empty() ? "No rate passed. " : StrCat("Passed: ", Describe(passed_.back()), ". ");
  if (failed_.empty()) {
    text += "No rate failed. ";
  } else {
    text += StrCat(failed_.back().late_generator ? "Limit: " : "Failed: ", Describe(failed_.back()), ". ");
  }
  if (overturned_ > 0)
    text +=
        StrCat("Long runs overturned ", overturned_, overturned_ == 1 ? " verdict" : " verdicts", " of short ones. ");
  if (trial_) {
    text += StrCat("Not over after ", probes_, " runs.");
  } else if (NextTrial()) {
    text += StrCat("Given up after ", probes_, " runs, before both ends were confirmed.");
  } else {
    text += StrCat(probes_, " runs in all.");
  }
  return text;
}

}  // namespace ferry
