// The random streams of batching_property_test.cc with real threads: submitters, cancels, the timer and instances, with a
// clock that the test moves. Run it under TSan.

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "batching/expiry_timer.h"
#include "batching/server_budget.h"
#include "ferry/batcher.h"
#include "support/fake_clock.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kSubmitters = 3;
constexpr int kInstances = 3;
constexpr uint64_t kEach = 1000;
constexpr uint64_t kAll = kSubmitters * kEach;
constexpr int64_t kMaxRows = 8;

// How a request ended; each ends once, or InferRequest ends the process.
enum class End : char { kNone, kRan, kRefused };

class BatcherThreadsTest : public ::testing::Test {
 protected:
  static QueueLimits Limits() {
    QueueLimits limits{.levels = 3, .default_level = 2, .policy = {.max_requests = 400, .timeout = milliseconds(3)}};
    limits.policy.allow_override = true;
    limits.level_policies[3] = {400, milliseconds(2), LevelPolicy::OnTimeout::kDelay, false};
    return limits;
  }

  void SubmitSome(unsigned submitter) {
    std::mt19937 random(submitter);
    for (uint64_t i = 1; i <= kEach; ++i) {
      const uint64_t ticket = submitter * kEach + i;
      auto request = std::make_unique<InferRequest>([this, ticket](const Result<InferResponse>& result) {
        ends_[ticket - 1] = result.ok() ? End::kRan : End::kRefused;
        ++ended_;
      });
      request->ticket = ticket;
      request->rows = 1 + random() % 4;
      request->group = {static_cast<int64_t>(random() % 3)};
      request->priority = random() % 5;
      request->input_bytes = 100;
      if (random() % 4 == 0) request->deadline = clock_.Now() + microseconds(500 * (1 + random() % 8));
      if (random() % 4 == 0) request->timeout = microseconds(100 * (1 + random() % 8));
      batcher_.Submit(std::move(request));
      submitted_ = ticket;
      if (random() % 8 == 0) clock_.AdvanceBy(microseconds(200));
    }
  }

  void CancelSome() {
    std::mt19937 random(99);
    while (!submitters_done_) batcher_.Cancel(1 + submitted_ - random() % std::min<uint64_t>(submitted_ + 1, 16));
  }

  void RunInstance() {
    while (std::optional<Batch> batch = batcher_.NextBatch()) {
      EXPECT_LE(batch->rows, kMaxRows);
      for (const auto& request : batch->requests) {
        EXPECT_EQ(request->group, batch->requests.front()->group);
        EXPECT_GT(request->deadline, clock_.Now() - milliseconds(100));  // it was not long past when it was taken
        request->Complete(InferResponse());
      }
    }
  }

  FakeClock clock_;
  ModelStatistics statistics_;
  ServerBudget budget_{{.max_requests = 1000, .max_bytes = 60'000}};
  ExpiryTimer timer_{clock_};
  Batcher batcher_{{kMaxRows, true, {4}, milliseconds(1)}, Limits(), {clock_, statistics_, &timer_, &budget_}};
  std::array<std::atomic<End>, kAll> ends_ = {};
  std::atomic<uint64_t> ended_ = 0;
  std::atomic<uint64_t> submitted_ = 0;
  std::atomic<bool> submitters_done_ = false;
};

TEST_F(BatcherThreadsTest, EachRequestEndsOnceAndIsCountedOnce) {
  std::vector<std::thread> instances;
  for (int i = 0; i < kInstances; ++i) instances.emplace_back([this] { RunInstance(); });
  std::vector<std::thread> submitters;
  for (unsigned i = 0; i < kSubmitters; ++i) submitters.emplace_back([this, i] { SubmitSome(i); });
  std::thread canceller([this] { CancelSome(); });
  for (std::thread& submitter : submitters) submitter.join();
  submitters_done_ = true;
  canceller.join();
  batcher_.Close();
  for (std::thread& instance : instances) instance.join();

  EXPECT_EQ(ended_, kAll);
  uint64_t ran = 0;
  for (const auto& end : ends_) ran += end == End::kRan ? 1 : 0;
  const StatisticsSnapshot counts = statistics_.Snapshot();
  EXPECT_EQ(ran + counts.fail.count, kAll);
  EXPECT_GT(ran, 0u);
  EXPECT_GT(counts.failures[static_cast<int>(Failure::kTimeout)] +
                counts.failures[static_cast<int>(Failure::kDeadline)] +
                counts.failures[static_cast<int>(Failure::kCancelled)],
            0u);
  EXPECT_EQ(batcher_.PendingApprox(), 0u);
  // The server's budget is whole again.
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(budget_.TryTake(100));
  EXPECT_FALSE(budget_.TryTake(100));
}

}  // namespace
}  // namespace ferry
