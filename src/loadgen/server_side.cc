#include "loadgen/server_side.h"

#include <map>

#include "grpc_service.pb.h"

namespace ferry {

namespace {

using inference::StatisticDuration;

Duration MeanOf(const StatisticDuration& before, const StatisticDuration& after) {
  const uint64_t count = after.count() - before.count();
  return count == 0 ? Duration::zero() : std::chrono::nanoseconds((after.ns() - before.ns()) / count);
}

std::map<uint64_t, StatisticDuration> InferByBatchSize(const inference::ModelStatistics& statistics) {
  std::map<uint64_t, StatisticDuration> sizes;
  for (const auto& size : statistics.batch_stats()) sizes[size.batch_size()] = size.compute_infer();
  return sizes;
}

}  // namespace

ServerSide Difference(const inference::ModelStatistics& earlier, const inference::ModelStatistics& after) {
  const bool restarted = after.inference_count() < earlier.inference_count();
  const inference::ModelStatistics before = restarted ? inference::ModelStatistics() : earlier;
  const inference::InferStatistics& old = before.inference_stats();
  const inference::InferStatistics& now = after.inference_stats();
  ServerSide side;
  side.requests = now.success().count() - old.success().count();
  side.failures = now.fail().count() - old.fail().count();
  side.inferences = after.inference_count() - before.inference_count();
  side.executions = after.execution_count() - before.execution_count();
  side.queue = MeanOf(old.queue(), now.queue());
  side.compute_input = MeanOf(old.compute_input(), now.compute_input());
  side.compute_infer = MeanOf(old.compute_infer(), now.compute_infer());
  side.compute_output = MeanOf(old.compute_output(), now.compute_output());
  std::map<uint64_t, StatisticDuration> known = InferByBatchSize(before);
  for (const auto& [size, infer] : InferByBatchSize(after)) {
    const uint64_t executions = infer.count() - known[size].count();
    if (executions == 0) continue;
    side.batches[static_cast<int64_t>(size)] = {executions, std::chrono::nanoseconds(infer.ns() - known[size].ns())};
  }
  return side;
}

ServerSide Together(const ServerSide& one, const ServerSide& other) {
  ServerSide side = one;
  side.requests += other.requests;
  side.failures += other.failures;
  side.inferences += other.inferences;
  side.executions += other.executions;
  for (const auto stage :
       {&ServerSide::queue, &ServerSide::compute_input, &ServerSide::compute_infer, &ServerSide::compute_output}) {
    const auto sum =
        one.*stage * static_cast<int64_t>(one.requests) + other.*stage * static_cast<int64_t>(other.requests);
    if (side.requests > 0) side.*stage = sum / static_cast<int64_t>(side.requests);
  }
  for (const auto& [size, batches] : other.batches) {
    side.batches[size].executions += batches.executions;
    side.batches[size].infer += batches.infer;
  }
  return side;
}

}  // namespace ferry
