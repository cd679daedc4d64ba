#ifndef FERRY_BATCHER_H_
#define FERRY_BATCHER_H_

#include <cstdint>
#include <map>
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

// What may wait at one priority level. A request over a bound is refused at once.
struct LevelPolicy {
  size_t max_requests = 4096;
  // How long a request may wait; zero: as long as it takes.
  Duration timeout{0};
  // What happens then: it is refused, or moves behind all requests of its level that have not waited too long.
  enum class OnTimeout { kReject, kDelay };
  OnTimeout on_timeout = OnTimeout::kReject;
  // Whether a request may bring a timeout of its own, which counts where it is the shorter one.
  bool allow_override = false;
};

struct QueueLimits {
  // Levels 1 to `levels`; 1 is the highest.
  uint64_t levels = 1;
  uint64_t default_level = 1;
  LevelPolicy policy{};  // of levels without one of their own
  std::map<uint64_t, LevelPolicy> level_policies{};
  int64_t max_bytes = int64_t{1} << 30;  // of the inputs that wait at all levels
};

// Requests that are executed together: all of one shape.
struct Batch {
  std::vector<std::unique_ptr<InferRequest>> requests;
  int64_t rows = 0;
};

class ExpiryTimer;
class RequestQueue;
class ServerBudget;
struct Decision;
struct Departure;

// Batcher holds the waiting requests of one model version and gives them out in batches. A free instance pulls its
// batch; the batch is chosen at that moment, as late as possible, by Decide() in src/batching/batch_policy.h.
//
// Guarantees: an accepted request leaves exactly once: in a batch, or refused because its time is up or its client gave it
//             up, which no longer runs. No batch exceeds max_rows. Among requests of one shape and level the order is that
//             of arrival; requests of different shapes never share a batch nor wait for each other's companions.
// Threading:  thread-safe. Any thread may Submit(), Cancel() or Expire(); each instance thread calls
//             NextBatch() and TakeComplete().
// Blocking:   only NextBatch() blocks, until a batch is due.
// Ownership:  takes each request and gives it away with its batch; borrows what Surroundings names.
// Errors:     a refused request is completed at once, counted by reason:
//               UNAVAILABLE        queue full, retry later; waited past the queue timeout; being stopped
//               DEADLINE_EXCEEDED  its client's deadline has passed
//               CANCELLED          Cancel()
class Batcher {
 public:
  struct Surroundings {
    Clock& clock;
    ModelStatistics& statistics;
    ExpiryTimer* timer = nullptr;    // calls Expire() in time; without it somebody else must
    ServerBudget* budget = nullptr;  // of the whole server
  };

  Batcher(BatchLimits batch_limits, QueueLimits queue_limits, Surroundings surroundings);
  ~Batcher();

  void Submit(std::unique_ptr<InferRequest> request);

  // Takes out the request with this ticket if it still waits.
  void Cancel(uint64_t ticket);

  // Takes out the requests whose time is up. Returns when the next one's will be.
  TimePoint Expire();

  // The next batch for the calling instance; nothing once closed and empty.
  std::optional<Batch> NextBatch();

  // A batch that nothing can be added to, if one waits: full, of a preferred size, or whose next request does not fit. For
  // an instance that is busy and can begin another; what may still grow is left for NextBatch(). Does not block.
  std::optional<Batch> TakeComplete();

  // From now on nothing waits for companions: the server is stopping, and few will come.
  void Hurry();

  // Hurry(), and no more requests are accepted.
  void Close();

  // Completes everything that still waits with `reason`, and closes.
  void Abort(const Status& reason);

  // Aborts what no instance has taken, and returns when the timer is done with this batcher and will not call it again:
  // before the last handle of the model version may go, which a completion on the timer's own thread might hold.
  // REQUIRES: no instance calls NextBatch() any more. May be called again; the destructor does.
  void Retire();

  // Requests that wait, and since when the oldest of them does.
  size_t PendingApprox() const;
  std::optional<TimePoint> OldestApprox() const;

 private:
  std::optional<Departure> Accept(std::unique_ptr<InferRequest>& request) FERRY_REQUIRES(mutex_);
  Decision DecideNow() FERRY_REQUIRES(mutex_);
  void WakeIfDue() FERRY_REQUIRES(mutex_);
  void ArmTimer() FERRY_REQUIRES(mutex_);
  Batch TakeBatch(const Decision& decision) FERRY_REQUIRES(mutex_);
  void Depart(std::vector<Departure> departures) FERRY_EXCLUDES(mutex_);

  const int64_t max_rows_;
  const QueueLimits limits_;
  const Surroundings surroundings_;
  bool in_timer_;  // of whoever stops and destroys this

  mutable Mutex mutex_;
  CondVar due_;
  std::unique_ptr<RequestQueue> queue_ FERRY_GUARDED_BY(mutex_);
  bool closed_ FERRY_GUARDED_BY(mutex_) = false;
  int waiting_instances_ FERRY_GUARDED_BY(mutex_) = 0;
  // The timer calls Expire() by then at the latest.
  TimePoint armed_for_ FERRY_GUARDED_BY(mutex_) = kNever;
  // Some waiting instance wakes up by then at the latest, if any waits.
  TimePoint next_wake_ FERRY_GUARDED_BY(mutex_) = kNever;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_H_
