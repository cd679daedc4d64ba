#include "batching/batch_policy.h"

#include <algorithm>
#include <tuple>

namespace ferry {

namespace {

// Requests from the head with the rows that they add up to.
struct Run {
  size_t requests = 0;
  int64_t rows = 0;
};

// The longest run from the head that fits. The first request always does: Submit() refuses a larger one.
Run LongestRun(const BatchLimits& limits, std::span<const int64_t> rows) {
  if (!limits.combine) return {1, rows[0]};
  Run run;
  while (run.requests < rows.size() && run.rows + rows[run.requests] <= limits.max_rows) {
    run.rows += rows[run.requests++];
  }
  return run;
}

// Requests of the largest preferred size that a run from the head reaches exactly; 0 when it reaches none.
size_t PreferredRun(const BatchLimits& limits, std::span<const int64_t> rows) {
  if (!limits.combine) return 0;
  int64_t sum = 0;
  size_t best = 0;
  for (size_t i = 0; i < rows.size() && sum + rows[i] <= limits.max_rows; ++i) {
    sum += rows[i];
    if (std::binary_search(limits.preferred_rows.begin(), limits.preferred_rows.end(), sum)) best = i + 1;
  }
  return best;
}

bool CanGrow(const BatchLimits& limits, std::span<const int64_t> rows, const Run& run) {
  return limits.combine && run.requests == rows.size() && run.rows < limits.max_rows;
}

DispatchReason ReasonFor(const BatchLimits& limits, const BucketView& bucket, const Run& run) {
  if (limits.combine && run.rows == limits.max_rows) return DispatchReason::kFull;
  if (limits.combine && run.requests < bucket.rows.size()) return DispatchReason::kCannotGrow;
  return limits.combine && limits.max_delay > Duration::zero() ? DispatchReason::kDelay : DispatchReason::kIdle;
}

// How many requests of the bucket leave now and why; 0: it is held until oldest + max_delay.
std::pair<size_t, DispatchReason> Due(const BatchLimits& limits, const BucketView& bucket, TimePoint now) {
  const bool delayed = limits.max_delay > Duration::zero();
  const bool waited = now - bucket.oldest >= limits.max_delay;
  if (!(delayed && waited)) {
    if (const size_t preferred = PreferredRun(limits, bucket.rows); preferred > 0) {
      return {preferred, DispatchReason::kPreferred};
    }
  }
  const Run run = LongestRun(limits, bucket.rows);
  if (!waited && CanGrow(limits, bucket.rows, run)) return {0, DispatchReason::kIdle};
  return {run.requests, ReasonFor(limits, bucket, run)};
}

}  // namespace

bool GoesBefore(const BucketView& a, const BucketView& b) {
  return std::tie(a.level, a.delayed, a.first) < std::tie(b.level, b.delayed, b.first);
}

TimePoint DueTime(const BatchLimits& limits, const BucketView& bucket) {
  if (limits.max_delay <= Duration::zero() || PreferredRun(limits, bucket.rows) > 0 ||
      !CanGrow(limits, bucket.rows, LongestRun(limits, bucket.rows))) {
    return TimePoint::min();
  }
  return bucket.oldest + limits.max_delay;
}

Decision Decide(const BatchLimits& limits, std::span<const BucketView> buckets, TimePoint now) {
  Decision decision;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const bool taking = decision.action == Decision::Action::kTake;
    if (taking && !GoesBefore(buckets[i], buckets[decision.bucket])) continue;
    if (const auto [requests, reason] = Due(limits, buckets[i], now); requests > 0) {
      decision = {Decision::Action::kTake, i, requests, reason, kNever};
    } else if (!taking) {
      decision.action = Decision::Action::kWait;
      decision.until = std::min(decision.until, buckets[i].oldest + limits.max_delay);
    }
  }
  return decision;
}

}  // namespace ferry
