#ifndef FERRY_BATCHING_REQUEST_QUEUE_H_
#define FERRY_BATCHING_REQUEST_QUEUE_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "batching/batch_policy.h"
#include "ferry/request.h"

namespace ferry {

// A request that leaves the queue without an answer, and why.
struct Departure {
  std::unique_ptr<InferRequest> request;
  Failure failure = Failure::kTimeout;
  Status status;
};
Departure DepartAtDeadline(std::unique_ptr<InferRequest> request);

// RequestQueue keeps waiting requests in buckets, one for each InferRequest::group, and knows at any moment which bucket is the next to look at and whose time is up next.
//
// Cost:      each operation is logarithmic in the number of buckets and of requests with a deadline, and walks at most
//            the requests of one batch; none walks the queue.
// Threading: none of its own; Batcher locks around it.
class RequestQueue {
 public:
  RequestQueue(BatchLimits batch_limits, const QueueLimits& limits);
  ~RequestQueue();

  // REQUIRES: request->enqueued is set.
  void Push(std::unique_ptr<InferRequest> request);

  // What Decide() would choose among all buckets, as a view of that bucket alone: the first of those that are due at
  // `now`, else the one that is due next; empty when nothing waits. Valid until the next call.
  std::span<const BucketView> Next(TimePoint now);

  // Takes the first `requests` requests of the bucket that Next() has shown.
  Batch Take(size_t requests);

  // The request with this ticket, if it waits.
  std::unique_ptr<InferRequest> Remove(uint64_t ticket);

  // Takes out the requests whose time is up at `now`; those that their level's policy only delays move behind the others.
  std::vector<Departure> Expire(TimePoint now);
  // When Expire() has something to do next.
  TimePoint NextExpiry() const;

  std::vector<std::unique_ptr<InferRequest>> TakeAll();

  // From now on max_delay is zero.
  void Hurry();

  // The level that a request with this priority waits at.
  uint64_t LevelOf(uint64_t priority) const;
  const LevelPolicy& PolicyOf(uint64_t level) const;
  size_t RequestsAt(uint64_t level) const;

  const BatchLimits& batch_limits() const { return batch_limits_; }
  size_t requests() const { return requests_; }
  int64_t bytes() const { return bytes_; }
  // Since when the oldest request waits. Looks at every bucket: for metrics.
  std::optional<TimePoint> Oldest() const;

 private:
  struct Bucket;
  struct Waiting;
  using Lane = std::list<Waiting>;
  // Requests of one level; those that were delayed are behind all others.
  using LaneKey = std::pair<uint64_t, bool>;
  // Order of buckets that are due, and of those that are held.
  using ReadyKey = std::tuple<uint64_t, bool, TimePoint, Bucket*>;
  using HeldKey = std::pair<TimePoint, Bucket*>;

  Bucket& BucketFor(const InferRequest& request);
  void Insert(Bucket& bucket, LaneKey key, Lane node);
  std::unique_ptr<InferRequest> Detach(Waiting& waiting);
  void Unindex(Bucket& bucket);
  void Index(Bucket& bucket);
  BucketView ViewOf(const Bucket& bucket);
  void MakeReady(Bucket& bucket);

  BatchLimits batch_limits_;
  const QueueLimits& limits_;

  std::unordered_multimap<uint64_t, std::unique_ptr<Bucket>> buckets_;  // by hash of their shapes
  std::set<ReadyKey> ready_;
  std::set<HeldKey> held_;
  std::set<std::pair<TimePoint, Waiting*>> expiries_;
  std::unordered_map<uint64_t, Waiting*> by_ticket_;
  std::map<uint64_t, size_t> at_level_;
  size_t requests_ = 0;
  int64_t bytes_ = 0;

  // What Next() has shown, with the memory for it.
  Bucket* shown_ = nullptr;
  BucketView view_;
  std::vector<int64_t> view_rows_;
};

}  // namespace ferry

#endif  // FERRY_BATCHING_REQUEST_QUEUE_H_
