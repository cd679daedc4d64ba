#include "ferry/statistics.h"

#include <algorithm>

namespace ferry {

namespace {

size_t QueueTimeBucket(Duration waited) {
  const auto* bound = std::lower_bound(std::begin(kQueueTimeBounds), std::end(kQueueTimeBounds), waited);
  return static_cast<size_t>(bound - std::begin(kQueueTimeBounds));
}

}  // namespace

FailureReason ReasonOf(Failure failure) {
  switch (failure) {
    case Failure::kDeadline:
    case Failure::kCancelled:
      return FailureReason::kCanceled;
    case Failure::kModel:
      return FailureReason::kBackend;
    default:
      return FailureReason::kRejected;
  }
}

void ModelStatistics::RecordBatch(const BatchVolume& volume, const BatchTimes& times,
                                  std::span<const RequestTimes> requests) {
  const auto input = times.input_done - times.start;
  const auto infer = times.infer_done - times.input_done;
  const auto output = times.output_done - times.infer_done;
  MutexLock lock(mutex_);
  BatchSizeStatistics& batch = counts_.batches[volume.rows];
  batch.compute_input.Add(input);
  batch.compute_infer.Add(infer);
  batch.compute_output.Add(output);
  ++counts_.execution_count;
  counts_.inference_count += static_cast<uint64_t>(volume.rows);
  counts_.elements += static_cast<uint64_t>(volume.elements);
  counts_.padding += static_cast<uint64_t>(volume.padding);
  counts_.last_inference = std::chrono::system_clock::now();
  for (const RequestTimes& request : requests) {
    counts_.success.Add(times.output_done - request.arrival);
    counts_.queue.Add(times.start - request.enqueued);
    ++counts_.queue_times[QueueTimeBucket(times.start - request.enqueued)];
    counts_.compute_input.Add(input);
    counts_.compute_infer.Add(infer);
    counts_.compute_output.Add(output);
  }
}

void ModelStatistics::RecordFailure(Failure failure, Duration duration) {
  MutexLock lock(mutex_);
  counts_.fail.Add(duration);
  ++counts_.failures[static_cast<int>(failure)];
}

void ModelStatistics::RecordDispatch(DispatchReason reason) {
  MutexLock lock(mutex_);
  ++counts_.dispatches[static_cast<int>(reason)];
}

void ModelStatistics::RecordDroppedReply() {
  MutexLock lock(mutex_);
  ++counts_.dropped_replies;
}

void ModelStatistics::RecordRetry() {
  MutexLock lock(mutex_);
  ++counts_.retries;
}

StatisticsSnapshot ModelStatistics::Snapshot() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace ferry
