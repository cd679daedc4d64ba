#include "batching/request_queue.h"

#include "support/requests.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TimePoint At(int us) { return TimePoint(microseconds(1'000'000 + us)); }

BatchLimits Limits(int64_t max_rows, int delay_us = 0) { return {max_rows, true, {}, microseconds(delay_us)}; }

// What a test says of a request. Requests are told apart by their value.
struct Spec {
  float value = 0;
  int at_us = 0;
  int64_t rows = 1;
  int64_t width = 4;
  uint64_t priority = 0;
  int timeout_us = 0;
  TimePoint deadline = kNever;
  uint64_t ticket = 0;
};

class RequestQueueTest : public ::testing::Test {
 protected:
  RequestQueue& Make(BatchLimits batch_limits, QueueLimits limits = {}) {
    limits_ = std::move(limits);
    return queue_.emplace(std::move(batch_limits), limits_);
  }

  void Push(const Spec& spec) {
    std::unique_ptr<InferRequest> request = std::move(MakeRows(spec.rows, spec.width, spec.value).request);
    request->enqueued = At(spec.at_us);
    request->priority = spec.priority;
    request->timeout = microseconds(spec.timeout_us);
    request->deadline = spec.deadline;
    request->ticket = spec.ticket;
    queue_->Push(std::move(request));
  }

  static float Value(const InferRequest& request) { return Floats(request.inputs[0].bytes.pieces()[0]).front(); }

  // Takes as Decide() says, until nothing is due: the values of each batch.
  std::vector<std::vector<float>> TakeDue(int now_us) {
    std::vector<std::vector<float>> batches;
    for (;;) {
      const Decision decision = Decide(queue_->batch_limits(), queue_->Next(At(now_us)), At(now_us));
      if (decision.action != Decision::Action::kTake) return batches;
      batches.emplace_back();
      for (const auto& request : queue_->Take(decision.requests).requests) batches.back().push_back(Value(*request));
    }
  }

  std::vector<float> Expired(int now_us) {
    std::vector<float> values;
    for (const Departure& departure : queue_->Expire(At(now_us))) values.push_back(Value(*departure.request));
    return values;
  }

  QueueLimits limits_;
  std::optional<RequestQueue> queue_;
};

QueueLimits Levels(uint64_t levels, uint64_t standard) {
  QueueLimits limits;
  limits.levels = levels;
  limits.default_level = standard;
  return limits;
}

QueueLimits TimeoutOf(int us, LevelPolicy::OnTimeout action = LevelPolicy::OnTimeout::kReject) {
  QueueLimits limits;
  limits.policy.timeout = microseconds(us);
  limits.policy.on_timeout = action;
  return limits;
}

TEST_F(RequestQueueTest, RequestsOfOneShapeShareABatchInOrder) {
  Make(Limits(8));
  Push({.value = 10, .rows = 1});
  Push({.value = 11, .rows = 3});
  EXPECT_THAT(TakeDue(0), ElementsAre(ElementsAre(10, 11)));
}

TEST_F(RequestQueueTest, RequestsOfDifferentShapesDoNot) {
  Make(Limits(8));
  Push({.value = 10, .at_us = 0, .width = 4});
  Push({.value = 11, .at_us = 1, .width = 5});
  Push({.value = 12, .at_us = 2, .width = 4});
  EXPECT_THAT(TakeDue(3), ElementsAre(ElementsAre(10, 12), ElementsAre(11)));
}

TEST_F(RequestQueueTest, WithoutCombiningThereIsOneQueueInOrderOfArrival) {
  BatchLimits limits = Limits(8);
  limits.combine = false;
  Make(limits);
  Push({.value = 10, .width = 4});
  Push({.value = 11, .width = 5});
  Push({.value = 12, .width = 4});
  EXPECT_THAT(TakeDue(0), ElementsAre(ElementsAre(10), ElementsAre(11), ElementsAre(12)));
}

TEST_F(RequestQueueTest, TheViewStopsOnceABatchIsExceeded) {
  RequestQueue& queue = Make(Limits(4));
  for (int i = 0; i < 100; ++i) Push({.rows = 3});
  EXPECT_EQ(queue.Next(At(0))[0].rows.size(), 2u);
}

TEST_F(RequestQueueTest, CountsRequestsAndBytes) {
  RequestQueue& queue = Make(Limits(8));
  Push({.rows = 1, .width = 4});
  Push({.at_us = 1, .rows = 2, .width = 5});
  EXPECT_EQ(queue.requests(), 2u);
  EXPECT_EQ(queue.bytes(), 4 * 4 + 2 * 5 * 4);
  queue.Next(At(1));
  queue.Take(1);
  EXPECT_EQ(queue.requests(), 1u);
  EXPECT_EQ(queue.bytes(), 40);
  EXPECT_EQ(queue.TakeAll().size(), 1u);
  EXPECT_EQ(queue.requests(), 0u);
  EXPECT_EQ(queue.bytes(), 0);
  EXPECT_THAT(queue.Next(At(1)), IsEmpty());
}

TEST_F(RequestQueueTest, AHeldBucketIsShownWhenNothingIsDue) {
  RequestQueue& queue = Make(Limits(8, 100));
  Push({.at_us = 10, .width = 4});
  Push({.at_us = 5, .width = 5});
  EXPECT_EQ(queue.Next(At(20))[0].first, At(5));
  EXPECT_THAT(TakeDue(104), IsEmpty());
  EXPECT_EQ(TakeDue(105).size(), 1u);
  EXPECT_EQ(TakeDue(110).size(), 1u);
}

TEST_F(RequestQueueTest, AHigherLevelOvertakes) {
  Make(Limits(1), Levels(3, 2));
  Push({.value = 30, .at_us = 0, .priority = 3});
  Push({.value = 20, .at_us = 1});
  Push({.value = 10, .at_us = 2, .priority = 1});
  Push({.value = 21, .at_us = 3, .priority = 9});  // beyond the levels: the default one
  EXPECT_THAT(TakeDue(4), ElementsAre(ElementsAre(10), ElementsAre(20), ElementsAre(21), ElementsAre(30)));
}

TEST_F(RequestQueueTest, ABatchIsFilledFromLowerLevels) {
  Make(Limits(4), Levels(2, 2));
  for (int i = 0; i < 3; ++i) Push({.value = static_cast<float>(20 + i), .at_us = i});
  Push({.value = 10, .at_us = 3, .priority = 1});
  EXPECT_THAT(TakeDue(4), ElementsAre(ElementsAre(10, 20, 21, 22)));
}

TEST_F(RequestQueueTest, EachLevelIsCountedByItself) {
  RequestQueue& queue = Make(Limits(8), Levels(2, 2));
  Push({.priority = 1});
  Push({});
  Push({});
  EXPECT_EQ(queue.RequestsAt(1), 1u);
  EXPECT_EQ(queue.RequestsAt(2), 2u);
}

TEST_F(RequestQueueTest, ARequestThatHasWaitedTooLongLeaves) {
  RequestQueue& queue = Make(Limits(8), TimeoutOf(100));
  Push({.value = 1, .at_us = 0});
  Push({.value = 2, .at_us = 50});
  EXPECT_EQ(queue.NextExpiry(), At(100));
  EXPECT_THAT(Expired(99), IsEmpty());
  const std::vector<Departure> departures = queue.Expire(At(100));
  ASSERT_EQ(departures.size(), 1u);
  EXPECT_EQ(departures[0].failure, Failure::kTimeout);
  EXPECT_THAT(departures[0].status, HasStatus(StatusCode::kUnavailable, "Request timeout expired"));
  EXPECT_EQ(queue.NextExpiry(), At(150));
  EXPECT_THAT(TakeDue(100), ElementsAre(ElementsAre(2)));
  EXPECT_EQ(queue.NextExpiry(), kNever);
}

TEST_F(RequestQueueTest, ARequestPastItsDeadlineLeaves) {
  RequestQueue& queue = Make(Limits(8), TimeoutOf(100, LevelPolicy::OnTimeout::kDelay));
  Push({.value = 1, .deadline = At(30)});
  const std::vector<Departure> departures = queue.Expire(At(30));
  ASSERT_EQ(departures.size(), 1u);
  EXPECT_EQ(departures[0].failure, Failure::kDeadline);
  EXPECT_EQ(departures[0].status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(RequestQueueTest, ADelayedRequestMovesBehindTheOthersOfItsLevel) {
  RequestQueue& queue = Make(Limits(2), TimeoutOf(100, LevelPolicy::OnTimeout::kDelay));
  Push({.value = 1, .at_us = 0});
  Push({.value = 2, .at_us = 10});
  Push({.value = 3, .at_us = 50, .width = 5});
  Push({.value = 4, .at_us = 90});
  EXPECT_THAT(Expired(110), IsEmpty());
  EXPECT_EQ(queue.requests(), 4u);
  EXPECT_THAT(TakeDue(110), ElementsAre(ElementsAre(3), ElementsAre(4, 1), ElementsAre(2)));
}

TEST_F(RequestQueueTest, ADelayedRequestStillHasItsDeadline) {
  RequestQueue& queue = Make(Limits(8), TimeoutOf(100, LevelPolicy::OnTimeout::kDelay));
  Push({.value = 1, .deadline = At(150)});
  EXPECT_THAT(Expired(100), IsEmpty());
  EXPECT_EQ(queue.NextExpiry(), At(150));
  EXPECT_THAT(Expired(150), ElementsAre(1));
}

TEST_F(RequestQueueTest, ARequestMayShortenItsTimeoutWhereThePolicyAllows) {
  QueueLimits limits = TimeoutOf(100);
  Make(Limits(8), limits);
  Push({.value = 1, .timeout_us = 10});
  EXPECT_EQ(queue_->NextExpiry(), At(100));
  limits.policy.allow_override = true;
  Make(Limits(8), limits);
  Push({.value = 1, .timeout_us = 10});
  EXPECT_EQ(queue_->NextExpiry(), At(10));
  Make(Limits(8), limits);
  Push({.value = 1, .timeout_us = 1000});
  EXPECT_EQ(queue_->NextExpiry(), At(100));
}

// Triton ignores the request's timeout when the model has none.
TEST_F(RequestQueueTest, ARequestMayBringATimeoutWhereTheModelHasNone) {
  QueueLimits limits;
  limits.policy.allow_override = true;
  Make(Limits(8), limits);
  Push({.value = 1, .timeout_us = 10});
  EXPECT_EQ(queue_->NextExpiry(), At(10));
}

TEST_F(RequestQueueTest, ALevelMayHaveAPolicyOfItsOwn) {
  QueueLimits limits = Levels(2, 2);
  limits.policy.timeout = microseconds(100);
  limits.level_policies[1].timeout = microseconds(10);
  Make(Limits(8), limits);
  Push({.value = 1, .priority = 1});
  Push({.value = 2});
  EXPECT_THAT(Expired(10), ElementsAre(1));
  EXPECT_THAT(Expired(100), ElementsAre(2));
}

TEST_F(RequestQueueTest, ARequestIsRemovedByItsTicket) {
  RequestQueue& queue = Make(Limits(8), TimeoutOf(100));
  Push({.value = 1, .ticket = 7});
  Push({.value = 2, .ticket = 8});
  EXPECT_EQ(queue.Remove(9), nullptr);
  EXPECT_EQ(Value(*queue.Remove(7)), 1);
  EXPECT_EQ(queue.Remove(7), nullptr);
  EXPECT_THAT(TakeDue(0), ElementsAre(ElementsAre(2)));
  EXPECT_EQ(queue.Remove(8), nullptr);
  EXPECT_EQ(queue.NextExpiry(), kNever);
}

TEST_F(RequestQueueTest, WhatBecomesDueByARemovalIsSeen) {
  // With 3 + 2 rows the bucket cannot grow and is due; without the second it is held again.
  RequestQueue& queue = Make(Limits(4, 100));
  Push({.value = 1, .rows = 3});
  Push({.value = 2, .rows = 2, .ticket = 7});
  queue.Remove(7);
  EXPECT_THAT(TakeDue(50), IsEmpty());
  EXPECT_THAT(TakeDue(100), ElementsAre(ElementsAre(1)));
}

TEST_F(RequestQueueTest, AfterHurryNothingIsHeld) {
  RequestQueue& queue = Make(Limits(8, 100));
  Push({.value = 1});
  queue.Hurry();
  EXPECT_THAT(TakeDue(0), ElementsAre(ElementsAre(1)));
}

TEST_F(RequestQueueTest, KnowsItsOldestRequest) {
  RequestQueue& queue = Make(Limits(8), Levels(2, 1));
  EXPECT_FALSE(queue.Oldest());
  Push({.at_us = 5});
  Push({.at_us = 3, .priority = 2});
  Push({.at_us = 4, .width = 5});
  EXPECT_EQ(queue.Oldest(), At(3));
}

}  // namespace
}  // namespace ferry
