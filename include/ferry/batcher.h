#ifndef FERRY_BATCHER_H_
#define FERRY_BATCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ferry/clock.h"
#include "ferry/mutex.h"
#include "ferry/request.h"
#include "ferry/statistics.h"

namespace ferry {

// What a batch may be.
struct BatchLimits {
  // Rows of one batch. At least 1.
  int64_t max_rows = 1;
  // Whether requests share batches at all; if not, each leaves alone.
  bool combine = false;
  // Sizes in rows that leave at once when a run of requests from the head adds up to exactly that; ascending.
  std::vector<int64_t> preferred_rows;
  // How long the oldest request of a batch may wait for companions while an instance is free.
  Duration max_delay{0};
};

// What may wait. A request over a bound is refused at once.
struct QueueLimits {
  size_t max_requests = 4096;
  int64_t max_bytes = int64_t{1} << 30;
};

// Requests that are executed together: all of one shape.
struct Batch {
  std::vector<std::unique_ptr<InferRequest>> requests;
  int64_t rows = 0;
};

struct Decision;
class RequestQueue;

// Batcher holds the waiting requests of one model version and gives them out in batches. A free instance pulls its
// batch; the batch is chosen at that moment, as late as possible, by Decide() in src/batching/batch_policy.h.
//
// Guarantees: an accepted request leaves in exactly one batch, in order of arrival among those of its shape; no batch
//             exceeds max_rows; requests of different shapes never share a batch nor wait for each other's companions.
// Threading:  thread-safe. Any thread may Submit(); each instance thread calls NextBatch().
// Blocking:   Submit() never blocks. NextBatch() waits until a batch is due.
// Ownership:  takes each request and gives it away with its batch; borrows the clock and the statistics.
// Errors:     a refused request is completed at once with UNAVAILABLE (queue full, retry later; closed) and counted.
class Batcher {
 public:
  Batcher(BatchLimits batch_limits, QueueLimits queue_limits, Clock& clock, ModelStatistics& statistics);
  ~Batcher();

  void Submit(std::unique_ptr<InferRequest> request);

  // The next batch for the calling instance; nothing once closed and empty.
  std::optional<Batch> NextBatch();

  // From now on nothing waits for companions: the server is stopping, and few will come.
  void Hurry();

  // Hurry(), and no more requests are accepted.
  void Close();

  // Completes everything that still waits with `reason`, and closes.
  void Abort(const Status& reason);

  // Requests that wait.
  size_t PendingApprox() const;

 private:
  std::optional<Status> RefusalFor(const InferRequest& request) const FERRY_REQUIRES(mutex_);
  Decision DecideNow() FERRY_REQUIRES(mutex_);
  void WakeIfDue() FERRY_REQUIRES(mutex_);

  const BatchLimits batch_limits_;
  const BatchLimits hurried_limits_;  // the same without delay
  const QueueLimits queue_limits_;
  Clock& clock_;
  ModelStatistics& statistics_;

  mutable Mutex mutex_;
  CondVar due_;
  std::unique_ptr<RequestQueue> queue_ FERRY_GUARDED_BY(mutex_);
  bool hurried_ FERRY_GUARDED_BY(mutex_) = false;
  bool closed_ FERRY_GUARDED_BY(mutex_) = false;
  int waiting_instances_ FERRY_GUARDED_BY(mutex_) = 0;
  // Some waiting instance wakes up by then at the latest, if any waits.
  TimePoint next_wake_ FERRY_GUARDED_BY(mutex_) = kNever;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_H_
