#include "batching/request_queue.h"

#include <gtest/gtest.h>

#include "support/requests.h"

namespace ferry {
namespace {

BatchLimits Limits(int64_t max_rows, bool combine = true) { return {max_rows, combine, {}, Duration::zero()}; }

// Requests are told apart by their first value.
float FirstValue(const InferRequest& request) { return Floats(request.inputs[0].bytes).front(); }

class RequestQueueTest : public ::testing::Test {
 protected:
  void Push(RequestQueue& queue, int64_t rows, int64_t width, float value) {
    TestRequest made = MakeRows(rows, width, value);
    queue.Push(std::move(made.request));
  }
};

TEST_F(RequestQueueTest, RequestsOfOneShapeShareABucketInOrder) {
  RequestQueue queue(Limits(8));
  Push(queue, 1, 4, 10);
  Push(queue, 3, 4, 11);
  ASSERT_EQ(queue.View().size(), 1u);
  EXPECT_EQ(std::vector<int64_t>(queue.View()[0].rows.begin(), queue.View()[0].rows.end()),
            (std::vector<int64_t>{1, 3}));
  const Batch batch = queue.Take(0, 2);
  EXPECT_EQ(batch.rows, 4);
  EXPECT_EQ(FirstValue(*batch.requests[0]), 10);
  EXPECT_EQ(FirstValue(*batch.requests[1]), 11);
}

TEST_F(RequestQueueTest, RequestsOfDifferentShapesDoNot) {
  RequestQueue queue(Limits(8));
  Push(queue, 1, 4, 10);
  Push(queue, 1, 5, 11);
  Push(queue, 1, 4, 12);
  ASSERT_EQ(queue.View().size(), 2u);
  EXPECT_EQ(queue.View()[0].rows.size(), 2u);
  EXPECT_EQ(FirstValue(*queue.Take(1, 1).requests[0]), 11);
}

TEST_F(RequestQueueTest, WithoutCombiningThereIsOneQueueInOrderOfArrival) {
  RequestQueue queue(Limits(8, false));
  Push(queue, 1, 4, 10);
  Push(queue, 2, 5, 11);
  ASSERT_EQ(queue.View().size(), 1u);
  EXPECT_EQ(queue.View()[0].rows.size(), 1u);
  EXPECT_EQ(FirstValue(*queue.Take(0, 1).requests[0]), 10);
  EXPECT_EQ(FirstValue(*queue.Take(0, 1).requests[0]), 11);
}

TEST_F(RequestQueueTest, ViewStopsOnceABatchIsExceeded) {
  RequestQueue queue(Limits(4));
  for (int i = 0; i < 100; ++i) Push(queue, 3, 4, 0);
  EXPECT_EQ(queue.View()[0].rows.size(), 2u);
}

TEST_F(RequestQueueTest, CountsRequestsAndBytes) {
  RequestQueue queue(Limits(8));
  Push(queue, 1, 4, 0);
  Push(queue, 2, 5, 0);
  EXPECT_EQ(queue.requests(), 2u);
  EXPECT_EQ(queue.bytes(), 4 * 4 + 2 * 5 * 4);
  queue.Take(1, 1);
  EXPECT_EQ(queue.requests(), 1u);
  EXPECT_EQ(queue.bytes(), 16);
  EXPECT_EQ(queue.TakeAll().size(), 1u);
  EXPECT_EQ(queue.requests(), 0u);
  EXPECT_EQ(queue.bytes(), 0);
  EXPECT_TRUE(queue.View().empty());
}

TEST_F(RequestQueueTest, AnEmptiedBucketIsForgotten) {
  RequestQueue queue(Limits(8));
  for (int width = 1; width <= 200; ++width) {
    Push(queue, 1, width, 0);
    queue.Take(0, 1);
  }
  EXPECT_TRUE(queue.View().empty());
}

}  // namespace
}  // namespace ferry
