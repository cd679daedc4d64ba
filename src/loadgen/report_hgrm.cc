#include "loadgen/report_hgrm.h"

#include <fmt/format.h>

#include <cmath>

#include "loadgen/duration_units.h"
#include "loadgen/report_figures.h"

namespace ferry {

namespace {

double DeviationMilliseconds(const LatencyHistogram& histogram) {
  const double mean = histogram.MeanNanoseconds() / 1e6;
  double sum = 0;
  for (const LatencyHistogram::Bucket& bucket : histogram.Buckets()) {
    sum += static_cast<double>(bucket.count) * std::pow(Milliseconds(bucket.upper) - mean, 2);
  }
  return histogram.count() == 0 ? 0 : std::sqrt(sum / static_cast<double>(histogram.count()));
}

}  // namespace

std::string HgrmReport(const LatencyHistogram& histogram) {
  std::string text =
      fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  for (const SpectrumPoint& point : Spectrum(histogram)) {
    text += fmt::format("{:12.6f} {:.12f} {:10}", Milliseconds(point.value), point.quantile, point.count);
    // Of the maximum there is none.
    text += point.quantile < 1 ? fmt::format(" {:14.2f}\n", 1 / (1 - point.quantile)) : "\n";
  }
  text += fmt::format("#[Mean    = {:12.6f}, StdDeviation   = {:12.6f}]\n", histogram.MeanNanoseconds() / 1e6,
                      DeviationMilliseconds(histogram));
  text +=
      fmt::format("#[Max     = {:12.6f}, Total count    = {:12}]\n", Milliseconds(histogram.max()), histogram.count());
  return text + fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n", 52, 2048);
}

}  // namespace ferry
