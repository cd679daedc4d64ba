#ifndef FERRY_LOADGEN_LOAD_WORKER_H_
#define FERRY_LOADGEN_LOAD_WORKER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "ferry/mutex.h"
#include "loadgen/infer_caller.h"
#include "loadgen/load_recorder.h"
#include "loadgen/request_mix.h"

namespace ferry {

// A request that is due, counted from the start of the load; of this class of the mix, or of any.
struct DueRequest {
  Duration at{};
  std::optional<size_t> class_index;
};

// Tells when requests are due, in order; nothing: no more.
using Schedule = std::function<std::optional<DueRequest>()>;

// What is wrong with the answer to a request; empty if nothing is.
using AnswerCheck = std::function<std::string(size_t request, grpc::ByteBuffer& answer)>;

// What a worker's part of a load is.
struct WorkerLoad {
  const RequestMix* mix = nullptr;
  uint64_t seed = 0;
  MeasuredWindow window;  // nothing is sent after its end
  Duration patience{};    // what is under way so long after it is given up
  // Closed loop: so many requests under way at any time.
  size_t concurrency = 0;
  Schedule schedule;  // open loop
  TimePoint start;
  size_t most_under_way = SIZE_MAX;  // of an open loop
  bool wait_when_full = false;       // else what is due beyond that is dropped
  AnswerCheck check;                 // asked for every answer; may be empty
};

// LoadWorker puts one part of a load on a server: a thread takes answers, and in an open loop another one sends, so that
// answers that are late do not hold back what is due.
//
// Threading: any thread; one load at a time.
class LoadWorker {
 public:
  explicit LoadWorker(const ConnectionOptions& options) : caller_(InferCaller::Make(options)) {}
  ~LoadWorker();

  Status Connect(Duration patience) { return caller_->Connect(patience); }

  // Begins. REQUIRES: the load before was waited for.
  void Start(const WorkerLoad& load);
  // Sends no more, and gives up what is under way now.
  void Stop();
  // Until nothing is under way any more, for which the window and its patience provide.
  void Wait();

  // Of the present load. The histogram is of responses since the last call.
  struct Progress {
    uint64_t offered = 0;
    uint64_t ok = 0;
    uint64_t failed = 0;
    size_t under_way = 0;
    LatencyHistogram recent;
  };
  Progress TakeProgress();

  // What was counted. REQUIRES: Wait() has returned.
  const LoadRecorder& recorder() const { return *recorder_; }

 private:
  void Answer();
  void Pace();
  void SendOne(TimePoint due, std::optional<size_t> class_index);
  void Ended(const EndedRequest& ended);
  // Waits until the time has come and, if the load says so, a place is free. False: the load was stopped.
  bool WaitUntilDue(TimePoint due);

  const std::unique_ptr<InferCaller> caller_;
  SystemClock clock_;
  WorkerLoad load_;
  std::optional<RequestDraw> draw_;    // of the sending thread
  std::atomic<bool> sending_ = false;  // an open loop has more to send
  std::atomic<TimePoint> give_up_ = kNever;
  std::atomic<uint64_t> offered_ = 0;
  Mutex mutex_;
  CondVar changed_;  // a place became free, or stopping_
  bool stopping_ FERRY_GUARDED_BY(mutex_) = false;
  std::optional<LoadRecorder> recorder_;  // guarded by mutex_ while threads run
  LatencyHistogram recent_ FERRY_GUARDED_BY(mutex_);
  std::thread answering_;
  std::thread pacing_;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_LOAD_WORKER_H_
