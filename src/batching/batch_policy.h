#ifndef FERRY_BATCHING_BATCH_POLICY_H_
#define FERRY_BATCHING_BATCH_POLICY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ferry/batcher.h"

namespace ferry {

// What waits in one bucket: requests that may share a batch, in the order in which they would leave.
struct BucketView {
  TimePoint oldest;               // when its first request was enqueued
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
// Of several buckets that may be sent, the one whose oldest request is the oldest goes first; a bucket that is held
// never holds another one up.
Decision Decide(const BatchLimits& limits, std::span<const BucketView> buckets, TimePoint now);

}  // namespace ferry

#endif  // FERRY_BATCHING_BATCH_POLICY_H_
