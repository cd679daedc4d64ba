#ifndef FERRY_STATISTICS_H_
#define FERRY_STATISTICS_H_

#include <chrono>
#include <cstdint>
#include <iterator>
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

// Why a request was not answered.
enum class Failure {
  kBadRequest,  // does not fit the model's configuration
  kQueueFull,   // too many requests wait
  kQueueBytes,  // too many bytes wait
  kServerFull,  // too many requests or bytes in the whole server
  kTimeout,     // waited longer than the model's queue timeout
  kDeadline,    // waited longer than its client does
  kCancelled,   // its client gave it up while it waited
  kStopping,    // the model or the server is being stopped
  kModel,       // the model failed
};
inline constexpr int kFailures = 9;

// Why an infer call was refused before it was known which model it is for.
enum class Refusal {
  kStopping,  // the server is being stopped
  kCalls,     // too many calls are in flight
  kBytes,     // their messages have too many bytes
};
inline constexpr int kRefusals = 3;

// The same in the words of Triton's metric nv_inference_request_failure.
enum class FailureReason { kRejected, kCanceled, kBackend, kOther };
inline constexpr int kFailureReasons = 4;
FailureReason ReasonOf(Failure failure);

// Why a batch left when it did.
enum class DispatchReason {
  kFull,        // it has max_batch_size rows
  kPreferred,   // it has a preferred size
  kCannotGrow,  // the next request does not fit
  kDelay,       // its oldest request has waited as long as it may for companions
  kIdle,        // an instance was free and there is no delay to wait for
};
inline constexpr int kDispatchReasons = 5;

// Upper bounds of the queue-time histogram; the last bucket has none.
inline constexpr std::chrono::microseconds kQueueTimeBounds[] = {std::chrono::microseconds(100),
                                                                 std::chrono::microseconds(250),
                                                                 std::chrono::microseconds(500),
                                                                 std::chrono::microseconds(1'000),
                                                                 std::chrono::microseconds(2'500),
                                                                 std::chrono::microseconds(5'000),
                                                                 std::chrono::microseconds(10'000),
                                                                 std::chrono::microseconds(25'000),
                                                                 std::chrono::microseconds(50'000),
                                                                 std::chrono::microseconds(100'000),
                                                                 std::chrono::microseconds(250'000),
                                                                 std::chrono::microseconds(500'000),
                                                                 std::chrono::seconds(1),
                                                                 std::chrono::microseconds(2'500'000),
                                                                 std::chrono::seconds(5),
                                                                 std::chrono::seconds(10)};
inline constexpr size_t kQueueTimeBuckets = std::size(kQueueTimeBounds) + 1;

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
  uint64_t failures[kFailures] = {};             // by Failure
  uint64_t dispatches[kDispatchReasons] = {};    // batches by DispatchReason
  uint64_t queue_times[kQueueTimeBuckets] = {};  // answered requests by time in the queue
  uint64_t dropped_replies = 0;                  // answers that nobody waited for any more
  uint64_t retries = 0;                          // batches that failed and were run again in parts
  DurationCount queue;
  DurationCount compute_input;
  DurationCount compute_infer;
  DurationCount compute_output;
  uint64_t elements = 0;                           // of the inputs that were executed
  uint64_t padding = 0;                            // elements executed beyond those
  uint64_t inference_count = 0;                    // rows answered
  uint64_t execution_count = 0;                    // batches executed with success
  std::map<int64_t, BatchSizeStatistics> batches;  // by rows of their requests
  std::chrono::system_clock::time_point last_inference;
};

// What one executed batch held.
struct BatchVolume {
  int64_t rows = 0;      // of its requests
  int64_t elements = 0;  // of its requests' inputs
  int64_t padding = 0;   // elements added: inputs filled up to a length, executions rounded up to a size
};
struct BatchTimes {
  TimePoint start;        // an instance took the batch
  TimePoint input_done;   // rows are in the batch buffer
  TimePoint infer_done;   // the model returned
  TimePoint output_done;  // outputs are checked
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
  void RecordBatch(const BatchVolume& volume, const BatchTimes& times, std::span<const RequestTimes> requests);
  void RecordFailure(Failure failure, Duration duration);
  void RecordDispatch(DispatchReason reason);
  void RecordDroppedReply();
  void RecordRetry();
  StatisticsSnapshot Snapshot() const;

 private:
  mutable Mutex mutex_;
  StatisticsSnapshot counts_ FERRY_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_STATISTICS_H_
