#include "loadgen/server_side.h"

#include <gmock/gmock.h>

#include "grpc_service.pb.h"

namespace ferry {
namespace {

using std::chrono::nanoseconds;

inference::ModelStatistics Statistics(uint64_t requests, uint64_t executions, uint64_t infer_ns) {
  inference::ModelStatistics statistics;
  statistics.set_inference_count(requests);
  statistics.set_execution_count(executions);
  auto& stats = *statistics.mutable_inference_stats();
  stats.mutable_success()->set_count(requests);
  stats.mutable_queue()->set_count(requests);
  stats.mutable_queue()->set_ns(requests * 10);
  stats.mutable_compute_infer()->set_count(requests);
  stats.mutable_compute_infer()->set_ns(infer_ns);
  auto& size = *statistics.add_batch_stats();
  size.set_batch_size(4);
  size.mutable_compute_infer()->set_count(executions);
  size.mutable_compute_infer()->set_ns(infer_ns);
  return statistics;
}

TEST(ServerSideTest, TellsWhatHappenedInBetween) {
  const ServerSide side = Difference(Statistics(100, 25, 1000), Statistics(108, 27, 1800));
  EXPECT_EQ(side.requests, 8u);
  EXPECT_EQ(side.inferences, 8u);
  EXPECT_EQ(side.executions, 2u);
  EXPECT_EQ(side.queue, nanoseconds(10));
  EXPECT_EQ(side.compute_infer, nanoseconds(100));
  ASSERT_EQ(side.batches.size(), 1u);
  EXPECT_EQ(side.batches.at(4).executions, 2u);
  EXPECT_EQ(side.batches.at(4).infer, nanoseconds(800));
}

TEST(ServerSideTest, NothingInBetweenIsNothing) {
  const ServerSide side = Difference(Statistics(100, 25, 1000), Statistics(100, 25, 1000));
  EXPECT_EQ(side.requests, 0u);
  EXPECT_EQ(side.queue, Duration::zero());
  EXPECT_TRUE(side.batches.empty());
}

TEST(ServerSideTest, AfterARestartAllIsNew) {
  EXPECT_EQ(Difference(Statistics(100, 25, 1000), Statistics(8, 2, 80)).requests, 8u);
}

TEST(ServerSideTest, TwoModelsTogetherHaveTheMeansOfAllTheirRequests) {
  ServerSide one, other;
  one.requests = 3;
  one.queue = std::chrono::milliseconds(2);
  one.batches[4] = {2, std::chrono::milliseconds(10)};
  other.requests = 1;
  other.queue = std::chrono::milliseconds(6);
  other.batches[4] = {1, std::chrono::milliseconds(5)};
  other.batches[8] = {1, std::chrono::milliseconds(9)};
  const ServerSide both = Together(one, other);
  EXPECT_EQ(both.requests, 4u);
  EXPECT_EQ(both.queue, std::chrono::milliseconds(3));
  EXPECT_EQ(both.batches.at(4).executions, 3u);
  EXPECT_EQ(both.batches.at(4).infer, std::chrono::milliseconds(15));
  EXPECT_EQ(both.batches.at(8).executions, 1u);
}

}  // namespace
}  // namespace ferry
