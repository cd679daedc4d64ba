// Random streams of arrivals, cancels, expiries and completions, in virtual time, against the rules written down a second
// time without any index: the queue must show what Decide() chooses among everything that waits.

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "batching/request_queue.h"
#include "support/requests.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using std::chrono::microseconds;

// One waiting request, as the rules see it.
struct Waiting {
  uint64_t ticket = 0;  // in order of arrival
  int64_t group = 0;
  uint64_t level = 1;
  bool delayed = false;
  int64_t rows = 1;
  TimePoint enqueued;
  TimePoint timeout = kNever;
  TimePoint deadline = kNever;
};

// What waits, as a plain list.
class Reference {
 public:
  explicit Reference(const QueueLimits& limits) : limits_(limits) {}

  void Push(const Waiting& waiting) { waiting_.push_back(waiting); }

  void Remove(uint64_t ticket) {
    std::erase_if(waiting_, [&](const Waiting& each) { return each.ticket == ticket; });
  }

  // The tickets that leave.
  std::set<uint64_t> Expire(TimePoint now) {
    std::set<uint64_t> gone;
    for (Waiting& each : waiting_) {
      const bool timed_out = each.timeout <= now;
      if (each.deadline <= now || (timed_out && PolicyOf(each).on_timeout == LevelPolicy::OnTimeout::kReject)) {
        gone.insert(each.ticket);
      } else if (timed_out) {
        each.delayed = true;
        each.timeout = kNever;
      }
    }
    for (const uint64_t ticket : gone) Remove(ticket);
    return gone;
  }

  // Every bucket, in the order in which its requests would leave.
  std::vector<std::vector<Waiting>> Buckets() const {
    std::map<int64_t, std::vector<Waiting>> buckets;
    for (const Waiting& each : waiting_) buckets[each.group].push_back(each);
    std::vector<std::vector<Waiting>> all;
    for (auto& [group, bucket] : buckets) {
      std::ranges::sort(bucket, {}, [](const Waiting& w) { return std::tuple(w.level, w.delayed, w.ticket); });
      all.push_back(std::move(bucket));
    }
    return all;
  }

  size_t size() const { return waiting_.size(); }
  const Waiting& at(size_t i) const { return waiting_[i]; }

 private:
  const LevelPolicy& PolicyOf(const Waiting& waiting) const {
    const auto own = limits_.level_policies.find(waiting.level);
    return own == limits_.level_policies.end() ? limits_.policy : own->second;
  }

  const QueueLimits& limits_;
  std::vector<Waiting> waiting_;
};

class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {
    batch_.max_rows = 1 + Below(8);
    batch_.combine = Below(8) != 0;
    batch_.max_delay = microseconds(Below(2) * Below(200));
    for (int64_t size = 1; size <= batch_.max_rows; ++size) {
      if (Below(5) == 0) batch_.preferred_rows.push_back(size);
    }
    limits_.levels = static_cast<uint64_t>(1 + Below(3));
    limits_.default_level = limits_.levels;
    limits_.policy = RandomPolicy();
    if (Below(2) == 0) limits_.level_policies[1] = RandomPolicy();
    reference_.emplace(limits_);
    queue_.emplace(batch_, limits_);
  }

  void Run(int events) {
    for (int i = 0; i < events && !::testing::Test::HasFailure(); ++i) {
      now_ += microseconds(1);
      switch (Below(8)) {
        case 0:
          now_ += microseconds(Below(100));
          break;
        case 1:
          Cancel();
          break;
        case 2:
        case 3:
          ++free_instances_;
          break;
        default:
          Arrive();
      }
      Expire();
      while (free_instances_ > 0 && Dispatch()) --free_instances_;
      free_instances_ = std::min(free_instances_, 2);
    }
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  LevelPolicy RandomPolicy() {
    LevelPolicy policy;
    policy.timeout = microseconds(Below(2) * (1 + Below(300)));
    policy.on_timeout = Below(2) == 0 ? LevelPolicy::OnTimeout::kReject : LevelPolicy::OnTimeout::kDelay;
    policy.allow_override = Below(2) == 0;
    return policy;
  }

  void Arrive() {
    Waiting waiting;
    waiting.ticket = ++last_ticket_;
    waiting.group = batch_.combine ? Below(3) : 0;
    waiting.rows = 1 + Below(static_cast<int>(batch_.max_rows));
    waiting.enqueued = now_;
    const auto priority = static_cast<uint64_t>(Below(5));
    waiting.level = priority == 0 || priority > limits_.levels ? limits_.default_level : priority;
    if (Below(4) == 0) waiting.deadline = now_ + microseconds(1 + Below(200));
    const Duration override_with = microseconds(Below(2) * (1 + Below(200)));

    std::unique_ptr<InferRequest> request = std::move(MakeRows(waiting.rows, 1).request);
    request->ticket = waiting.ticket;
    request->group = {waiting.group};
    request->enqueued = now_;
    request->priority = priority;
    request->deadline = waiting.deadline;
    request->timeout = override_with;
    const LevelPolicy& policy = queue_->PolicyOf(waiting.level);
    Duration timeout = policy.timeout;
    if (policy.allow_override && override_with > Duration::zero() &&
        (timeout == Duration::zero() || override_with < timeout)) {
      timeout = override_with;
    }
    if (timeout > Duration::zero()) waiting.timeout = now_ + timeout;
    queue_->Push(std::move(request));
    reference_->Push(waiting);
  }

  void Cancel() {
    if (reference_->size() == 0) return;
    const uint64_t ticket = reference_->at(static_cast<size_t>(Below(static_cast<int>(reference_->size())))).ticket;
    reference_->Remove(ticket);
    const std::unique_ptr<InferRequest> request = queue_->Remove(ticket);
    ASSERT_TRUE(request);
    ASSERT_EQ(request->ticket, ticket);
    ASSERT_TRUE(left_.insert(ticket).second);
  }

  void Expire() {
    std::set<uint64_t> gone;
    for (const Departure& departure : queue_->Expire(now_)) {
      gone.insert(departure.request->ticket);
      ASSERT_TRUE(left_.insert(departure.request->ticket).second);
    }
    ASSERT_EQ(gone, reference_->Expire(now_));
    ASSERT_GT(queue_->NextExpiry(), now_);
  }

  // What a free instance does; true if it takes a batch.
  bool Dispatch() {
    const std::vector<std::vector<Waiting>> buckets = reference_->Buckets();
    const Decision expected = DecideAmong(buckets);
    const Decision decision = Decide(batch_, queue_->Next(now_), now_);
    EXPECT_EQ(decision.action, expected.action);
    EXPECT_EQ(decision.requests, expected.requests);
    EXPECT_EQ(decision.reason, expected.reason);
    EXPECT_EQ(decision.until, expected.until);
    if (decision != Decision{decision.action, decision.bucket, expected.requests, expected.reason, expected.until})
      return false;
    if (decision.action != Decision::Action::kTake) {
      // No instance is left idle, and nobody waits past its delay, while one is free.
      for (const auto& bucket : buckets) EXPECT_LT(now_ - OldestOf(bucket), batch_.max_delay);
      return false;
    }
    CheckBatch(queue_->Take(decision.requests), buckets[expected.bucket]);
    return true;
  }

  static TimePoint OldestOf(const std::vector<Waiting>& bucket) {
    return std::ranges::min(bucket, {}, &Waiting::enqueued).enqueued;
  }

  Decision DecideAmong(const std::vector<std::vector<Waiting>>& buckets) {
    std::vector<std::vector<int64_t>> rows(buckets.size());
    std::vector<BucketView> views;
    for (size_t i = 0; i < buckets.size(); ++i) {
      for (const Waiting& each : buckets[i]) rows[i].push_back(each.rows);
      const Waiting& first = buckets[i].front();
      views.push_back({first.level, first.delayed, first.enqueued, OldestOf(buckets[i]), rows[i]});
    }
    return Decide(batch_, views, now_);
  }

  // The first requests of the bucket, no more rows than allowed, no preferred size overshot.
  void CheckBatch(const Batch& batch, const std::vector<Waiting>& bucket) {
    int64_t rows = 0;
    bool passed_preferred = false;
    for (size_t i = 0; i < batch.requests.size(); ++i) {
      passed_preferred |= std::ranges::binary_search(batch_.preferred_rows, rows);
      rows += batch.requests[i]->rows;
      ASSERT_EQ(batch.requests[i]->ticket, bucket[i].ticket);
      ASSERT_TRUE(left_.insert(bucket[i].ticket).second);
      reference_->Remove(bucket[i].ticket);
    }
    ASSERT_EQ(rows, batch.rows);
    ASSERT_LE(rows, batch_.max_rows);
    const bool bound = batch_.max_delay == Duration::zero() || now_ - OldestOf(bucket) < batch_.max_delay;
    if (batch_.combine && bound && passed_preferred) {
      ASSERT_TRUE(std::ranges::binary_search(batch_.preferred_rows, rows)) << rows;
    }
  }

  std::mt19937 random_;
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  BatchLimits batch_;
  QueueLimits limits_;
  std::optional<Reference> reference_;
  std::optional<RequestQueue> queue_;
  std::set<uint64_t> left_;  // each ticket leaves once
  uint64_t last_ticket_ = 0;
  int free_instances_ = 0;
};

TEST(BatchingPropertyTest, TheQueueKeepsTheRulesOnRandomStreams) {
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Simulation(seed).Run(300);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace ferry
