#ifndef FERRY_TESTS_LOADGEN_SAMPLE_RESULT_H_
#define FERRY_TESTS_LOADGEN_SAMPLE_RESULT_H_

#include "loadgen/bench_result.h"

namespace ferry {

// Results for the tests of the reports.

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A closed loop of 8 whose responses took 1, 2, ... microseconds, times `slowness`; three requests failed.
inline LoadPoint SamplePoint(int requests = 1000, double slowness = 1) {
  LoadPoint point;
  point.load = {LoadShape::Kind::kConcurrency, 8, "closed"};
  point.window = point.measured = seconds(2);
  point.rows = 2;
  for (int i = 1; i <= requests; ++i) {
    const auto time = std::chrono::duration_cast<Duration>(microseconds(i) * slowness);
    point.response.Record(time);
    point.service.Record(time);
    point.lateness.Record(microseconds(1));
  }
  point.offered = static_cast<uint64_t>(requests) + 3;
  point.ok = static_cast<uint64_t>(requests);
  point.failed = 3;
  point.requests_per_second = requests / 2.0 / slowness;
  point.failures = {{"UNAVAILABLE", "queue \"full\" <b>\xff", 3}};
  for (int i = 0; i < 30; ++i) {
    point.seconds.push_back({static_cast<double>(i), 17, 17, 0,
                             std::chrono::duration_cast<Duration>(milliseconds(1) * slowness),
                             std::chrono::duration_cast<Duration>(milliseconds(2) * slowness), milliseconds(3)});
  }
  ServerSide server;
  server.requests = 1000;
  server.inferences = 2000;
  server.executions = 500;
  server.queue = microseconds(100);
  server.compute_infer = microseconds(200);
  server.batches = {{2, {100, milliseconds(20)}}, {4, {400, milliseconds(160)}}};
  point.server = server;
  return point;
}

inline BenchResult SampleResult(LoadPoint point) {
  BenchResult result;
  result.model = "mlp";
  result.target = "host:8001";
  result.arguments = {"-m", "mlp"};
  result.client = {"here", "a processor", 2, "Linux"};
  result.points.push_back(std::move(point));
  return result;
}

}  // namespace ferry

#endif  // FERRY_TESTS_LOADGEN_SAMPLE_RESULT_H_
