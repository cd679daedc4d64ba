#ifndef FERRY_LOADGEN_LOAD_WORKER_H_
#define FERRY_LOADGEN_LOAD_WORKER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "ferry/mutex.h"
#include "loadgen/infer_caller.h"
#include "loadgen/load_recorder.h"

namespace ferry {

// A request of a run, ready to be sent any number of times.
struct LoadRequest {
  grpc::ByteBuffer message;
  size_t class_index = 0;
};

// The requests of a run; which one is next is drawn by weight, with replacement.
struct RequestMix {
  std::vector<LoadRequest> requests;  // at least one
  std::vector<double> weights;        // of each request; empty: all alike
  std::vector<std::string> classes;   // names, at least one
};

// What a worker's part of a load is.
struct WorkerLoad {
  const RequestMix* mix = nullptr;
  uint64_t seed = 0;
  MeasuredWindow window;  // nothing is sent after its end
  Duration patience{};    // what is under way so long after it is given up
  // Closed loop: so many requests under way at any time.
  size_t concurrency = 0;
  // Open loop: when requests are due, counted from `start`, in order; nothing: no more.
  std::function<std::optional<Duration>()> arrivals;
  TimePoint start;
  size_t most_under_way = SIZE_MAX;  // of an open loop
  bool wait_when_full = false;       // else what is due beyond that is dropped
  // True if the answer to this request is right; asked for every answer. May be empty.
  std::function<bool(size_t request, grpc::ByteBuffer& answer)> check;
};

// LoadWorker puts one part of a load on a server: a thread takes answers, and in an open loop another one sends, so that
// answers that are late do not hold back what is due.
//
// Threading: any thread; one load at a time.
class LoadWorker {
 public:
  explicit LoadWorker(const ConnectionOptions& options) : caller_(options) {}
  ~LoadWorker();

  Status Connect(Duration patience) { return caller_.Connect(patience); }

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
  void SendOne(TimePoint due);
  void Ended(const EndedCall& call);
  // The next request of the mix.
  size_t Draw();
  // Waits until the time has come and, if the load says so, a place is free. False: the load was stopped.
  bool WaitUntilDue(TimePoint due);

  InferCaller caller_;
  SystemClock clock_;
  WorkerLoad load_;
  std::vector<double> cumulative_;     // weights
  std::mt19937_64 random_;             // of the sending thread
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
