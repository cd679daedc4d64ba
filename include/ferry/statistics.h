#ifndef FERRY_STATISTICS_H_
#define FERRY_STATISTICS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <span>

#include "ferry/clock.h"
#include "ferry/mutex.h"

namespace ferry {

// How often something happened and how long it took in all.
struct DurationCount {
  uint64_t count = 0;
  std::chrono::nanoseconds total{0};

  void Add(std::chrono::nanoseconds duration) {
    ++count;
    total += duration;
  }
};

// Why a request failed, in the words of Triton's metric nv_inference_request_failure.
enum class FailureReason {
  kRejected,  // refused before it ran: bad request, queue full
  kCanceled,  // its client gave up
  kBackend,   // the model failed
  kOther,
};
inline constexpr int kFailureReasons = 4;

// Executions of one batch size.
struct BatchSizeStatistics {
  DurationCount compute_input;
  DurationCount compute_infer;
  DurationCount compute_output;
};

// Everything counted for one model version, as of one moment. Field meanings are those of the V2 statistics extension:
// a request is charged the whole duration of the batch it was in.
struct StatisticsSnapshot {
  DurationCount success;
  DurationCount fail;
  uint64_t failures[kFailureReasons] = {};
  DurationCount queue;
  DurationCount compute_input;
  DurationCount compute_infer;
  DurationCount compute_output;
  uint64_t inference_count = 0;                    // rows answered
  uint64_t execution_count = 0;                    // batches executed with success
  std::map<int64_t, BatchSizeStatistics> batches;  // by rows in the execution
  std::chrono::system_clock::time_point last_inference;
};

// One executed batch.
struct BatchTimes {
  TimePoint start;        // an instance took the batch
  TimePoint input_done;   // rows are in the batch buffer
  TimePoint infer_done;   // the model returned
  TimePoint output_done;  // outputs are checked and cut
};
struct RequestTimes {
  TimePoint arrival;
  TimePoint enqueued;
};

// ModelStatistics counts the traffic of one model version.
//
// Guarantees: a snapshot holds each batch and each request wholly or not at all, so its counts agree with each other.
// Threading:  thread-safe.
class ModelStatistics {
 public:
  void RecordBatch(int64_t rows, const BatchTimes& times, std::span<const RequestTimes> requests);
  void RecordFailure(FailureReason reason, Duration duration);
  StatisticsSnapshot Snapshot() const;

 private:
  mutable Mutex mutex_;
  StatisticsSnapshot counts_ FERRY_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_STATISTICS_H_
