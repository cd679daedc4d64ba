#ifndef FERRY_LOADGEN_LATENCY_HISTOGRAM_H_
#define FERRY_LOADGEN_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "ferry/clock.h"

namespace ferry {

// LatencyHistogram counts durations in buckets of a width that grows with the value, so that each is known to 0.1 % (three
// digits) whatever its size, in 2,048 buckets for each doubling pair of ranges at most: the layout of Gil Tene's
// HdrHistogram. Values from 0 to about 73 years; a nanosecond is the unit.
//
// Guarantees: recording takes a constant time and does not allocate once a value as large has been recorded. Histograms of
//             threads, windows and runs are merged without loss; quantiles never are averaged.
// Threading:  one thread at a time.
class LatencyHistogram {
 public:
  // Negative values count as 0.
  void Record(Duration value, uint64_t count = 1);
  void Merge(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  Duration min() const { return count_ == 0 ? Duration::zero() : min_; }  // exact
  Duration max() const { return max_; }                                   // exact
  double MeanNanoseconds() const;                                         // exact
  double SumNanoseconds() const { return sum_; }

  // The smallest value that at least the share `q` (0 to 1) of all values do not exceed (nearest rank), as the upper end of
  // its bucket but never more than max(). Zero when nothing was recorded.
  Duration Quantile(double q) const;

  // The value of this rank among all, counted from 1, the same way. REQUIRES: 1 <= rank <= count().
  Duration ValueAtRank(uint64_t rank) const;

  // How many values are greater than `limit`, to the precision of its bucket.
  uint64_t CountAbove(Duration limit) const;

  // Buckets that hold something, from the lowest: the greatest value that each stands for, and its count.
  struct Bucket {
    Duration upper;
    uint64_t count;
  };
  std::vector<Bucket> Buckets() const;

  // The histogram of which Buckets(), min() and SumNanoseconds() told this.
  // REQUIRES: `min` exceeds no bucket's `upper`.
  static LatencyHistogram Restore(const std::vector<Bucket>& buckets, Duration min, double sum_nanoseconds);

 private:
  std::vector<uint64_t> counts_;  // up to the highest bucket in use
  uint64_t count_ = 0;
  double sum_ = 0;  // of nanoseconds
  Duration min_ = Duration::max();
  Duration max_ = Duration::zero();
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_LATENCY_HISTOGRAM_H_
