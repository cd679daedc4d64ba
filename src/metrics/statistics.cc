#include "ferry/statistics.h"

namespace ferry {

void ModelStatistics::RecordBatch(int64_t rows, const BatchTimes& times, std::span<const RequestTimes> requests) {
  const auto input = times.input_done - times.start;
  const auto infer = times.infer_done - times.input_done;
  const auto output = times.output_done - times.infer_done;
  MutexLock lock(mutex_);
  BatchSizeStatistics& batch = counts_.batches[rows];
  batch.compute_input.Add(input);
  batch.compute_infer.Add(infer);
  batch.compute_output.Add(output);
  ++counts_.execution_count;
  counts_.inference_count += static_cast<uint64_t>(rows);
  counts_.last_inference = std::chrono::system_clock::now();
  for (const RequestTimes& request : requests) {
    counts_.success.Add(times.output_done - request.arrival);
    counts_.queue.Add(times.start - request.enqueued);
    counts_.compute_input.Add(input);
    counts_.compute_infer.Add(infer);
    counts_.compute_output.Add(output);
  }
}

void ModelStatistics::RecordFailure(FailureReason reason, Duration duration) {
  MutexLock lock(mutex_);
  counts_.fail.Add(duration);
  ++counts_.failures[static_cast<int>(reason)];
}

StatisticsSnapshot ModelStatistics::Snapshot() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace ferry
