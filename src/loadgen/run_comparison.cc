#include "loadgen/run_comparison.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <utility>

#include "base/strings.h"
#include "ferry/check.h"

namespace ferry {

namespace {

constexpr size_t kFewestRuns = 4;
constexpr size_t kFewestSeconds = 20;
constexpr double kTooNoisy = 5;  // thresholds

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// One side of the comparison, as the bootstrap sees it: values that are drawn in blocks of neighbours.
struct Sample {
  std::span<const double> values;
  size_t block = 1;

  // How many values are as good as independent.
  double Independent() const { return static_cast<double>(values.size()) / static_cast<double>(block); }
};

// Blocks begin anywhere, and go on at the beginning when they reach the end, so that all values are drawn as often.
double ResampledMean(const Sample& sample, std::mt19937_64& random) {
  const size_t n = sample.values.size();
  std::uniform_int_distribution<size_t> pick(0, n - 1);
  double sum = 0;
  for (size_t drawn = 0; drawn < n;) {
    const size_t begin = pick(random);
    for (size_t i = 0; i < sample.block && drawn < n; ++i, ++drawn) sum += sample.values[(begin + i) % n];
  }
  return sum / static_cast<double>(n);
}

double LogRatio(double fresh, double baseline) {
  constexpr double kLeast = std::numeric_limits<double>::min();  // for a resample of seconds in which nothing was done
  return std::log(std::max(fresh, kLeast)) - std::log(std::max(baseline, kLeast));
}

// The variance of a mean, as a share of its square.
double RelativeVariance(const Sample& sample) {
  const double mean = MeanOf(sample.values);
  double squares = 0;
  for (const double value : sample.values) squares += (value - mean) * (value - mean);
  const double n = static_cast<double>(sample.values.size());
  return squares / (n - 1) / sample.Independent() / (mean * mean);
}

// Welch's: of the side with more noise if one has most of it, of both together if they are alike.
double DegreesOfFreedom(const Sample& a, const Sample& b) {
  const double var_a = RelativeVariance(a);
  const double var_b = RelativeVariance(b);
  const double free_a = std::max(a.Independent() - 1, 1.0);
  const double free_b = std::max(b.Independent() - 1, 1.0);
  if (var_a + var_b <= 0) return free_a + free_b;
  return (var_a + var_b) * (var_a + var_b) / (var_a * var_a / free_a + var_b * var_b / free_b);
}

// The share of resamples to leave out at each end. The plain share makes intervals too narrow for few values, because
// resamples vary less than samples, by (n - 1) / n, and because the noise itself is known from few values: Student's t
// instead of the normal distribution sets that right.
double TailShare(const Sample& a, const Sample& b, double confidence) {
  const boost::math::students_t_distribution<double> student(DegreesOfFreedom(a, b));
  const double t = quantile(complement(student, (1 - confidence) / 2));
  const double n = std::min(a.Independent(), b.Independent());
  return cdf(boost::math::normal_distribution<double>(), -t * std::sqrt(n / (n - 1)));
}

struct LogInterval {
  double low = 0;
  double high = 0;
};

LogInterval BootstrapInterval(const Sample& baseline, const Sample& fresh, const ComparisonOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<double> ratios(static_cast<size_t>(options.resamples));
  for (double& ratio : ratios) {
    const double below = ResampledMean(baseline, random);
    ratio = LogRatio(ResampledMean(fresh, random), below);
  }
  std::ranges::sort(ratios);
  const double tail = TailShare(baseline, fresh, options.confidence) * static_cast<double>(ratios.size());
  const size_t rank = std::min(static_cast<size_t>(tail), (ratios.size() - 1) / 2);
  return {ratios[rank], ratios[ratios.size() - 1 - rank]};
}

// Makes the interval around `centre` as wide as it must be when each side is also off by `run_to_run`, for being one
// run.
LogInterval Widened(const LogInterval& interval, double centre, const ComparisonOptions& options) {
  const boost::math::normal_distribution<double> normal;
  const double extra = quantile(complement(normal, (1 - options.confidence) / 2)) * std::sqrt(2.0) * options.run_to_run;
  return {centre - std::hypot(centre - interval.low, extra), centre + std::hypot(interval.high - centre, extra)};
}

bool Usable(std::span<const double> values) {
  const auto bad = [](double value) { return !std::isfinite(value) || value < 0; };
  return !values.empty() && std::ranges::none_of(values, bad) && MeanOf(values) > 0;
}

// The length of blocks that lets a series of `n` keep the resemblance of its neighbours, and still has many blocks.
size_t BlockLength(size_t n) { return static_cast<size_t>(std::ceil(std::cbrt(static_cast<double>(n)))); }

Comparison TooFew(Comparison comparison, std::string why) {
  comparison.verdict = Comparison::Verdict::kTooFewToSay;
  comparison.explanation = std::move(why);
  return comparison;
}

Comparison::Verdict Judge(const Comparison& comparison, const ComparisonOptions& options) {
  using Verdict = Comparison::Verdict;
  const bool higher = comparison.low > 1 && comparison.ratio >= 1 + options.threshold;
  const bool lower = comparison.high < 1 && comparison.ratio <= 1 - options.threshold;
  if (higher || lower) {
    const bool better = higher == (options.better == ComparisonOptions::Better::kHigher);
    return better ? Verdict::kFaster : Verdict::kSlower;
  }
  return comparison.detectable > kTooNoisy * options.threshold ? Verdict::kTooNoisyToSay : Verdict::kSame;
}

std::string Percent(double share) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << 100 * share << " %";
  return std::move(out).str();
}

std::string Explain(const Comparison& comparison, const ComparisonOptions& options) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << VerdictName(comparison.verdict) << ": new / baseline "
      << comparison.ratio << ", between " << comparison.low << " and " << comparison.high << " with "
      << std::setprecision(0) << 100 * options.confidence << " % confidence";
  if (comparison.verdict == Comparison::Verdict::kSame || comparison.verdict == Comparison::Verdict::kTooNoisyToSay) {
    out << "; a difference of less than " << Percent(comparison.detectable) << " may go unseen";
  }
  return std::move(out).str();
}

Comparison Concluded(Comparison comparison, const LogInterval& interval, const ComparisonOptions& options) {
  comparison.low = std::exp(interval.low);
  comparison.high = std::exp(interval.high);
  comparison.detectable = std::max((interval.high - interval.low) / 2, options.threshold);
  comparison.verdict = Judge(comparison, options);
  comparison.explanation = Explain(comparison, options);
  return comparison;
}

Comparison CompareSeconds(const std::vector<double>& baseline, const std::vector<double>& fresh,
                          const ComparisonOptions& options) {
  Comparison comparison;
  if (!Usable(baseline) || !Usable(fresh))
    return TooFew(comparison, "too few to say: one run a side, without its seconds");
  comparison.ratio = MeanOf(fresh) / MeanOf(baseline);
  if (std::min(baseline.size(), fresh.size()) < kFewestSeconds) {
    return TooFew(comparison, StrCat("too few to say: runs of ", baseline.size(), " and ", fresh.size(),
                                     " seconds, fewer than ", kFewestSeconds, "; make several runs a side"));
  }
  const Sample below{baseline, BlockLength(baseline.size())};
  const Sample above{fresh, BlockLength(fresh.size())};
  const LogInterval interval = BootstrapInterval(below, above, options);
  comparison = Concluded(comparison, Widened(interval, std::log(comparison.ratio), options), options);
  comparison.explanation +=
      StrCat("; one run a side, if runs differ by ", Percent(options.run_to_run), " by themselves");
  return comparison;
}

}  // namespace

std::string_view VerdictName(Comparison::Verdict verdict) {
  switch (verdict) {
    case Comparison::Verdict::kSame:
      return "same";
    case Comparison::Verdict::kSlower:
      return "slower";
    case Comparison::Verdict::kFaster:
      return "faster";
    case Comparison::Verdict::kTooFewToSay:
      return "too few to say";
    case Comparison::Verdict::kTooNoisyToSay:
      return "too noisy to say";
  }
  return "";
}

Comparison CompareRuns(const RunFigures& baseline, const RunFigures& fresh, const ComparisonOptions& options) {
  FERRY_CHECK(options.confidence > 0 && options.confidence < 1, "a confidence is between 0 and 1");
  FERRY_CHECK(options.threshold >= 0 && options.run_to_run >= 0, "a difference has a size");
  FERRY_CHECK(options.resamples >= 100, "an interval needs resamples");
  if (baseline.runs.size() == 1 && fresh.runs.size() == 1)
    return CompareSeconds(baseline.seconds, fresh.seconds, options);
  Comparison comparison;
  if (!Usable(baseline.runs) || !Usable(fresh.runs)) {
    return TooFew(comparison, "too few to say: a side has no runs, or a figure that is no positive number");
  }
  comparison.ratio = MeanOf(fresh.runs) / MeanOf(baseline.runs);
  if (std::min(baseline.runs.size(), fresh.runs.size()) < kFewestRuns) {
    return TooFew(comparison, StrCat("too few to say: ", baseline.runs.size(), " and ", fresh.runs.size(),
                                     " runs, fewer than ", kFewestRuns, " a side"));
  }
  comparison = Concluded(comparison, BootstrapInterval({baseline.runs}, {fresh.runs}, options), options);
  comparison.explanation += StrCat("; ", baseline.runs.size(), " and ", fresh.runs.size(), " runs");
  return comparison;
}

}  // namespace ferry
