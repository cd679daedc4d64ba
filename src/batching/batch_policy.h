#ifndef FERRY_BATCHING_BATCH_POLICY_H_
#define FERRY_BATCHING_BATCH_POLICY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ferry/batcher.h"

namespace ferry {

// What waits in one bucket: requests that may share a batch, in the order in which they would leave.
struct BucketView {
  uint64_t level = 1;             // of its first request; 1 is the highest
  bool delayed = false;           // its first request has waited too long and was put behind those that have not
  TimePoint first;                // when its first request was enqueued
  TimePoint oldest;               // when its oldest request was, at whatever level
  std::span<const int64_t> rows;  // of its requests from the first; may stop once they exceed BatchLimits::max_rows
};

// What a free instance does now.
struct Decision {
  enum class Action {
    kTake,  // the first `requests` requests of `bucket`
    kWait,  // until `until`, or until something changes
    kIdle,  // nothing waits
  };
  Action action = Action::kIdle;
  size_t bucket = 0;
  size_t requests = 0;
  DispatchReason reason = DispatchReason::kIdle;
  TimePoint until = kNever;

  bool operator==(const Decision&) const = default;
};

// The batching rule: a pure function of the limits, of what waits and of the time. Each bucket by itself is
//   - sent as the largest preferred size that a run from its head adds up to exactly, unless its oldest request has
//     waited a non-zero max_delay out;
//   - else sent, as many requests as fit, when nothing can be added: it is full, or the next request does not fit, or
//     requests do not combine at all;
//   - else sent when max_delay is zero or its oldest request has waited that long;
//   - else held until it has.
// Of several buckets that may be sent, the one with the highest level goes first; at one level those that were put behind
// go last, and else the one whose first request is the oldest. A bucket that is held never holds another one up.
Decision Decide(const BatchLimits& limits, std::span<const BucketView> buckets, TimePoint now);

// When the bucket is due, if nothing about it changes: TimePoint::min() if it is due whatever the time.
TimePoint DueTime(const BatchLimits& limits, const BucketView& bucket);

// True when `a` goes before `b` if both are due.
bool GoesBefore(const BucketView& a, const BucketView& b);

}  // namespace ferry

#endif  // FERRY_BATCHING_BATCH_POLICY_H_
