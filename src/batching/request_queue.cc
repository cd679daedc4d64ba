#include "batching/request_queue.h"

#include <algorithm>
#include <tuple>

#include "base/strings.h"

namespace ferry {

struct RequestQueue::Waiting {
  std::unique_ptr<InferRequest> request;
  Bucket* bucket = nullptr;
  LaneKey lane;
  TimePoint expiry = kNever;
  Lane::iterator self;
};

struct RequestQueue::Bucket {
  uint64_t key = 0;  // under which buckets_ has it
  std::vector<int64_t> group;
  std::map<LaneKey, Lane> lanes;  // none of them empty; the order in which their requests leave
  int64_t rows = 0;
  // Where the indexes have it.
  std::optional<ReadyKey> ready;
  std::optional<HeldKey> held;
};

namespace {

uint64_t Hash(const std::vector<int64_t>& group) {
  uint64_t hash = group.size();
  for (const int64_t part : group) {
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

TimePoint After(TimePoint start, Duration duration) { return duration > kNever - start ? kNever : start + duration; }

// When the level's policy no longer lets the request wait.
TimePoint QueueTimeout(const LevelPolicy& policy, const InferRequest& request) {
  Duration timeout = policy.timeout;
  if (policy.allow_override && request.timeout > Duration::zero() &&
      (timeout == Duration::zero() || request.timeout < timeout)) {
    timeout = request.timeout;
  }
  return timeout == Duration::zero() ? kNever : After(request.enqueued, timeout);
}

}  // namespace

Departure DepartAtDeadline(std::unique_ptr<InferRequest> request) {
  return {std::move(request), Failure::kDeadline,
          Status(StatusCode::kDeadlineExceeded, "the deadline passed while the request waited")};
}

RequestQueue::RequestQueue(BatchLimits batch_limits, const QueueLimits& limits)
    : batch_limits_(std::move(batch_limits)), limits_(limits) {}

RequestQueue::~RequestQueue() = default;

uint64_t RequestQueue::LevelOf(uint64_t priority) const {
  return priority == 0 || priority > limits_.levels ? limits_.default_level : priority;
}

const LevelPolicy& RequestQueue::PolicyOf(uint64_t level) const {
  const auto own = limits_.level_policies.find(level);
  return own == limits_.level_policies.end() ? limits_.policy : own->second;
}

size_t RequestQueue::RequestsAt(uint64_t level) const {
  const auto at = at_level_.find(level);
  return at == at_level_.end() ? 0 : at->second;
}

std::optional<TimePoint> RequestQueue::Oldest() const {
  std::optional<TimePoint> oldest;
  for (const auto& [key, bucket] : buckets_) {
    for (const auto& [lane_key, lane] : bucket->lanes) {
      const TimePoint enqueued = lane.front().request->enqueued;
      if (!oldest || enqueued < *oldest) oldest = enqueued;
    }
  }
  return oldest;
}

TimePoint RequestQueue::NextExpiry() const { return expiries_.empty() ? kNever : expiries_.begin()->first; }

RequestQueue::Bucket& RequestQueue::BucketFor(const InferRequest& request) {
  // Requests that never share a batch need no bucket of their own: one queue in order of arrival.
  static const std::vector<int64_t> kOneForAll;
  const std::vector<int64_t>& group = batch_limits_.combine ? request.group : kOneForAll;
  const uint64_t key = Hash(group);
  const auto [begin, end] = buckets_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    if (it->second->group == group) return *it->second;
  }
  auto bucket = std::make_unique<Bucket>();
  bucket->key = key;
  bucket->group = group;
  return *buckets_.emplace(key, std::move(bucket))->second;
}

void RequestQueue::Push(std::unique_ptr<InferRequest> request) {
  const uint64_t level = LevelOf(request->priority);
  ++requests_;
  ++at_level_[level];
  bytes_ += request->input_bytes;
  Lane node;
  Waiting& waiting = node.emplace_back();
  waiting.expiry = std::min(request->deadline, QueueTimeout(PolicyOf(level), *request));
  if (waiting.expiry != kNever) expiries_.emplace(waiting.expiry, &waiting);
  if (request->ticket != 0) by_ticket_.emplace(request->ticket, &waiting);
  Bucket& bucket = BucketFor(*request);
  waiting.request = std::move(request);
  Insert(bucket, {level, false}, std::move(node));
}

void RequestQueue::Insert(Bucket& bucket, LaneKey key, Lane node) {
  Unindex(bucket);
  Waiting& waiting = node.front();
  waiting.bucket = &bucket;
  waiting.lane = key;
  waiting.self = node.begin();
  bucket.rows += waiting.request->rows;
  Lane& lane = bucket.lanes[key];
  // In order of arrival, also those that were delayed: with timeouts of their own they need not come here in that order.
  auto behind = lane.end();
  while (behind != lane.begin() && std::prev(behind)->request->enqueued > waiting.request->enqueued) --behind;
  lane.splice(behind, node);
  Index(bucket);
}

// Takes the request out of everything but its bucket's index, which the caller renews; forgets a bucket that is empty.
std::unique_ptr<InferRequest> RequestQueue::Detach(Waiting& waiting) {
  Bucket& bucket = *waiting.bucket;
  std::unique_ptr<InferRequest> request = std::move(waiting.request);
  --requests_;
  if (--at_level_[waiting.lane.first] == 0) at_level_.erase(waiting.lane.first);
  bytes_ -= request->input_bytes;
  bucket.rows -= request->rows;
  if (waiting.expiry != kNever) expiries_.erase({waiting.expiry, &waiting});
  if (request->ticket != 0) by_ticket_.erase(request->ticket);
  const auto lane = bucket.lanes.find(waiting.lane);
  lane->second.erase(waiting.self);
  if (lane->second.empty()) bucket.lanes.erase(lane);
  return request;
}

void RequestQueue::Unindex(Bucket& bucket) {
  if (bucket.ready) ready_.erase(*std::exchange(bucket.ready, std::nullopt));
  if (bucket.held) held_.erase(*std::exchange(bucket.held, std::nullopt));
  if (shown_ == &bucket) shown_ = nullptr;
}

// Puts the bucket among those that are due or those that are held; an empty one is forgotten.
void RequestQueue::Index(Bucket& bucket) {
  if (bucket.lanes.empty()) {
    const auto [begin, end] = buckets_.equal_range(bucket.key);
    buckets_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second.get() == &bucket; }));
    return;
  }
  // Most often the answer is known without a look at the requests.
  const bool due =
      !batch_limits_.combine || batch_limits_.max_delay <= Duration::zero() || bucket.rows >= batch_limits_.max_rows;
  const TimePoint time = due ? TimePoint::min() : DueTime(batch_limits_, ViewOf(bucket));
  if (time == TimePoint::min()) {
    MakeReady(bucket);
  } else {
    bucket.held = HeldKey(time, &bucket);
    held_.insert(*bucket.held);
  }
}

void RequestQueue::MakeReady(Bucket& bucket) {
  const auto& [key, lane] = *bucket.lanes.begin();
  bucket.ready = ReadyKey(key.first, key.second, lane.front().request->enqueued, &bucket);
  ready_.insert(*bucket.ready);
}

// Walks one batch's requests at most.
BucketView RequestQueue::ViewOf(const Bucket& bucket) {
  view_rows_.clear();
  BucketView view;
  std::tie(view.level, view.delayed) = bucket.lanes.begin()->first;
  view.first = bucket.lanes.begin()->second.front().request->enqueued;
  view.oldest = view.first;
  int64_t sum = 0;
  for (const auto& [key, lane] : bucket.lanes) {
    view.oldest = std::min(view.oldest, lane.front().request->enqueued);
    for (const Waiting& waiting : lane) {
      if (sum > batch_limits_.max_rows || (!batch_limits_.combine && !view_rows_.empty())) break;
      view_rows_.push_back(waiting.request->rows);
      sum += waiting.request->rows;
    }
  }
  view.rows = view_rows_;
  return view;
}

std::span<const BucketView> RequestQueue::Next(TimePoint now) {
  // Held buckets whose time has come join those that are due.
  while (!held_.empty() && held_.begin()->first <= now) {
    Bucket& bucket = *held_.begin()->second;
    Unindex(bucket);
    MakeReady(bucket);
  }
  shown_ = !ready_.empty() ? std::get<Bucket*>(*ready_.begin()) : !held_.empty() ? held_.begin()->second : nullptr;
  if (shown_ == nullptr) return {};
  view_ = ViewOf(*shown_);
  return {&view_, 1};
}

Batch RequestQueue::Take(size_t requests) {
  Bucket& bucket = *shown_;
  Unindex(bucket);
  Batch batch;
  batch.requests.reserve(requests);
  for (size_t i = 0; i < requests; ++i) {
    batch.requests.push_back(Detach(bucket.lanes.begin()->second.front()));
    batch.rows += batch.requests.back()->rows;
  }
  Index(bucket);
  return batch;
}

std::unique_ptr<InferRequest> RequestQueue::Remove(uint64_t ticket) {
  const auto found = by_ticket_.find(ticket);
  if (found == by_ticket_.end()) return nullptr;
  Bucket& bucket = *found->second->bucket;
  Unindex(bucket);
  std::unique_ptr<InferRequest> request = Detach(*found->second);
  Index(bucket);
  return request;
}

std::vector<Departure> RequestQueue::Expire(TimePoint now) {
  std::vector<Departure> departures;
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    Waiting& waiting = *expiries_.begin()->second;
    Bucket& bucket = *waiting.bucket;
    const uint64_t level = waiting.lane.first;
    const bool deadline = waiting.request->deadline <= now;
    if (!deadline && PolicyOf(level).on_timeout == LevelPolicy::OnTimeout::kDelay) {
      expiries_.erase(expiries_.begin());
      waiting.expiry = waiting.request->deadline;
      if (waiting.expiry != kNever) expiries_.emplace(waiting.expiry, &waiting);
      Unindex(bucket);
      Lane node;
      const auto lane = bucket.lanes.find(waiting.lane);
      node.splice(node.end(), lane->second, waiting.self);
      if (lane->second.empty()) bucket.lanes.erase(lane);
      bucket.rows -= waiting.request->rows;
      Insert(bucket, {level, true}, std::move(node));
      continue;
    }
    Unindex(bucket);
    std::unique_ptr<InferRequest> request = Detach(waiting);
    departures.push_back(
        deadline ? DepartAtDeadline(std::move(request))
                 : Departure{std::move(request), Failure::kTimeout, UnavailableError("Request timeout expired")});
    Index(bucket);
  }
  return departures;
}

void RequestQueue::Hurry() {
  batch_limits_.max_delay = Duration::zero();
  while (!held_.empty()) {
    Bucket& bucket = *held_.begin()->second;
    Unindex(bucket);
    Index(bucket);
  }
}

std::vector<std::unique_ptr<InferRequest>> RequestQueue::TakeAll() {
  std::vector<std::unique_ptr<InferRequest>> all;
  while (!buckets_.empty()) {
    Bucket& bucket = *buckets_.begin()->second;
    Unindex(bucket);
    while (!bucket.lanes.empty()) all.push_back(Detach(bucket.lanes.begin()->second.front()));
    Index(bucket);
  }
  return all;
}

}  // namespace ferry
