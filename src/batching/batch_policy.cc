#include "batching/batch_policy.h"

#include <algorithm>

namespace ferry {

namespace {

// The longest run from the head that fits. The first request always does: Submit() refuses a larger one.
size_t LongestRun(const BatchLimits& limits, std::span<const int64_t> rows) {
  if (!limits.combine) return 1;
  int64_t sum = 0;
  size_t requests = 0;
  while (requests < rows.size() && sum + rows[requests] <= limits.max_rows) sum += rows[requests++];
  return std::max<size_t>(requests, 1);
}

// Requests of the largest preferred size that a run from the head reaches exactly; 0 when it reaches none.
size_t PreferredRun(const BatchLimits& limits, std::span<const int64_t> rows) {
  int64_t sum = 0;
  size_t best = 0;
  for (size_t i = 0; i < rows.size() && sum + rows[i] <= limits.max_rows; ++i) {
    sum += rows[i];
    if (std::binary_search(limits.preferred_rows.begin(), limits.preferred_rows.end(), sum)) best = i + 1;
  }
  return best;
}

bool CanGrow(const BatchLimits& limits, std::span<const int64_t> rows, size_t run) {
  if (!limits.combine || run < rows.size()) return false;
  int64_t sum = 0;
  for (const int64_t r : rows) sum += r;
  return sum < limits.max_rows;
}

// How many requests of the bucket leave now; 0: it is held until oldest + max_delay.
size_t Due(const BatchLimits& limits, const BucketView& bucket, TimePoint now) {
  const bool delayed = limits.max_delay > Duration::zero();
  const bool waited = now - bucket.oldest >= limits.max_delay;
  if (limits.combine && !(delayed && waited)) {
    if (const size_t preferred = PreferredRun(limits, bucket.rows); preferred > 0) return preferred;
  }
  const size_t run = LongestRun(limits, bucket.rows);
  return waited || !CanGrow(limits, bucket.rows, run) ? run : 0;
}

}  // namespace

Decision Decide(const BatchLimits& limits, std::span<const BucketView> buckets, TimePoint now) {
  Decision decision;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const bool taking = decision.action == Decision::Action::kTake;
    if (taking && buckets[decision.bucket].oldest <= buckets[i].oldest) continue;
    if (const size_t requests = Due(limits, buckets[i], now); requests > 0) {
      decision = {Decision::Action::kTake, i, requests, kNever};
    } else if (!taking) {
      decision.action = Decision::Action::kWait;
      decision.until = std::min(decision.until, buckets[i].oldest + limits.max_delay);
    }
  }
  return decision;
}

}  // namespace ferry
