#include "loadgen/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ferry/check.h"

namespace ferry {

namespace {

// Values below 2 * kHalf are exact; each further doubling has kHalf buckets, so that the width of a bucket is at most
// 1 / kHalf of its values.
constexpr int kHalfBits = 10;
constexpr uint64_t kHalf = uint64_t{1} << kHalfBits;
constexpr uint64_t kLargest = uint64_t{1} << 61;

size_t IndexOf(uint64_t value) {
  value = std::min(value, kLargest);
  if (value < 2 * kHalf) return value;
  const int shift = std::bit_width(value) - (kHalfBits + 1);
  return static_cast<uint64_t>(shift) * kHalf + (value >> shift);
}

uint64_t UpperEndOf(size_t index) {
  if (index < 2 * kHalf) return index;
  const uint64_t shift = index / kHalf - 1;
  const uint64_t mantissa = index - shift * kHalf;
  return ((mantissa + 1) << shift) - 1;
}

}  // namespace

void LatencyHistogram::Record(Duration value, uint64_t count) {
  if (count == 0) return;
  value = std::max(value, Duration::zero());
  const auto nanoseconds = static_cast<uint64_t>(value.count());
  const size_t index = IndexOf(nanoseconds);
  if (index >= counts_.size()) counts_.resize((index / kHalf + 1) * kHalf);
  counts_[index] += count;
  count_ += count;
  sum_ += static_cast<double>(nanoseconds) * static_cast<double>(count);
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double LatencyHistogram::MeanNanoseconds() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

Duration LatencyHistogram::Quantile(double q) const {
  if (count_ == 0) return Duration::zero();
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  return ValueAtRank(std::clamp<uint64_t>(static_cast<uint64_t>(rank), 1, count_));
}

Duration LatencyHistogram::ValueAtRank(uint64_t rank) const {
  FERRY_CHECK(rank >= 1 && rank <= count_, "a rank is one of the values'");
  if (rank == count_) return max_;
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::clamp(Duration(UpperEndOf(i)), min_, max_);
  }
  return max_;
}

uint64_t LatencyHistogram::CountAbove(Duration limit) const {
  if (limit < Duration::zero()) return count_;
  uint64_t above = 0;
  for (size_t i = IndexOf(static_cast<uint64_t>(limit.count())) + 1; i < counts_.size(); ++i) above += counts_[i];
  return above;
}

std::vector<LatencyHistogram::Bucket> LatencyHistogram::Buckets() const {
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) buckets.push_back({std::min(Duration(UpperEndOf(i)), max_), counts_[i]});
  }
  return buckets;
}

LatencyHistogram LatencyHistogram::Restore(const std::vector<Bucket>& buckets, Duration min, double sum_nanoseconds) {
  LatencyHistogram histogram;
  for (const Bucket& bucket : buckets) histogram.Record(bucket.upper, bucket.count);
  FERRY_CHECK(min <= histogram.min_, "the least value lies in the lowest bucket");
  if (histogram.count_ > 0) histogram.min_ = min;
  histogram.sum_ = sum_nanoseconds;
  return histogram;
}

}  // namespace ferry
