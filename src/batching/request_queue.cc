#include "batching/request_queue.h"

#include <algorithm>

namespace ferry {

namespace {

// The extents that must agree within a batch: all but the first one, which a batch adds up.
std::span<const int64_t> SharedExtents(const TensorView& input) {
  return std::span<const int64_t>(input.shape).subspan(1);
}

uint64_t Key(const InferRequest& request) {
  uint64_t hash = 0;
  for (const TensorView& input : request.inputs) {
    for (const int64_t extent : SharedExtents(input)) {
      hash = (hash ^ static_cast<uint64_t>(extent)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    }
    hash = hash * 31 + 1;  // so that [2],[3] and [2,3],[] differ
  }
  return hash;
}

bool SameShapes(const std::vector<Shape>& shapes, const InferRequest& request) {
  return std::equal(
      shapes.begin(), shapes.end(), request.inputs.begin(), request.inputs.end(),
      [](const Shape& shape, const TensorView& input) { return std::ranges::equal(shape, SharedExtents(input)); });
}

}  // namespace

RequestQueue::Bucket& RequestQueue::BucketFor(const InferRequest& request) {
  // Requests that never share a batch need no bucket of their own: one queue in order of arrival.
  if (!limits_.combine && !buckets_.empty()) return *buckets_.front();
  auto bucket = std::make_unique<Bucket>();
  if (limits_.combine) {
    bucket->key = Key(request);
    const auto [begin, end] = by_key_.equal_range(bucket->key);
    for (auto it = begin; it != end; ++it) {
      if (SameShapes(it->second->shapes, request)) return *it->second;
    }
    for (const TensorView& input : request.inputs) {
      const auto extents = SharedExtents(input);
      bucket->shapes.emplace_back(extents.begin(), extents.end());
    }
  }
  by_key_.emplace(bucket->key, bucket.get());
  buckets_.push_back(std::move(bucket));
  return *buckets_.back();
}

void RequestQueue::Push(std::unique_ptr<InferRequest> request) {
  ++requests_;
  bytes_ += request->input_bytes;
  BucketFor(*request).waiting.push_back(std::move(request));
}

std::span<const BucketView> RequestQueue::View() {
  view_.clear();
  view_rows_.clear();
  view_ends_.clear();
  for (const auto& bucket : buckets_) {
    int64_t sum = 0;
    for (const auto& request : bucket->waiting) {
      view_rows_.push_back(request->rows);
      sum += request->rows;
      if (sum > limits_.max_rows || !limits_.combine) break;
    }
    view_ends_.push_back(view_rows_.size());
  }
  size_t begin = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    view_.push_back({buckets_[i]->waiting.front()->enqueued, {view_rows_.data() + begin, view_ends_[i] - begin}});
    begin = view_ends_[i];
  }
  return view_;
}

Batch RequestQueue::Take(size_t bucket, size_t requests) {
  Batch batch;
  batch.requests.reserve(requests);
  auto& waiting = buckets_[bucket]->waiting;
  for (size_t i = 0; i < requests; ++i) {
    batch.rows += waiting.front()->rows;
    bytes_ -= waiting.front()->input_bytes;
    batch.requests.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
  requests_ -= requests;
  if (waiting.empty()) Drop(bucket);
  return batch;
}

std::vector<std::unique_ptr<InferRequest>> RequestQueue::TakeAll() {
  std::vector<std::unique_ptr<InferRequest>> all;
  for (const auto& bucket : buckets_) {
    for (auto& request : bucket->waiting) all.push_back(std::move(request));
  }
  buckets_.clear();
  by_key_.clear();
  requests_ = 0;
  bytes_ = 0;
  return all;
}

void RequestQueue::Drop(size_t bucket) {
  const auto [begin, end] = by_key_.equal_range(buckets_[bucket]->key);
  for (auto it = begin; it != end; ++it) {
    if (it->second == buckets_[bucket].get()) {
      by_key_.erase(it);
      break;
    }
  }
  buckets_.erase(buckets_.begin() + static_cast<ptrdiff_t>(bucket));
}

}  // namespace ferry
