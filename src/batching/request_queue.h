#ifndef FERRY_BATCHING_REQUEST_QUEUE_H_
#define FERRY_BATCHING_REQUEST_QUEUE_H_

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "batching/batch_policy.h"
#include "ferry/request.h"

namespace ferry {

// RequestQueue keeps waiting requests in buckets, one for each combination of input shapes (without the batch extent),
// so that requests of different shapes do not break up each other's batches.
//
// Threading: none of its own; Batcher locks around it.
class RequestQueue {
 public:
  explicit RequestQueue(BatchLimits limits) : limits_(std::move(limits)) {}

  void Push(std::unique_ptr<InferRequest> request);

  // One view for each bucket that is not empty, valid until the next call of a method that is not const.
  std::span<const BucketView> View();

  // Takes the first `requests` requests of the bucket that View() showed at `bucket`.
  Batch Take(size_t bucket, size_t requests);

  // Takes everything.
  std::vector<std::unique_ptr<InferRequest>> TakeAll();

  size_t requests() const { return requests_; }
  int64_t bytes() const { return bytes_; }

 private:
  struct Bucket {
    uint64_t key = 0;  // hash of `shapes`, under which by_key_ has it
    std::vector<Shape> shapes;
    std::deque<std::unique_ptr<InferRequest>> waiting;
  };

  Bucket& BucketFor(const InferRequest& request);
  void Drop(size_t bucket);

  const BatchLimits limits_;
  // Buckets are few and short-lived: one exists as long as it holds a request.
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::unordered_multimap<uint64_t, Bucket*> by_key_;
  // View() fills these anew and keeps their memory: the rows of all buckets behind each other, where each bucket's rows
  // end, and the views, which point into the rows once those have stopped growing.
  std::vector<int64_t> view_rows_;
  std::vector<size_t> view_ends_;
  std::vector<BucketView> view_;
  size_t requests_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHING_REQUEST_QUEUE_H_
