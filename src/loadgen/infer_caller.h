#ifndef FERRY_LOADGEN_INFER_CALLER_H_
#define FERRY_LOADGEN_INFER_CALLER_H_

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ferry/clock.h"
#include "ferry/status.h"
#include "loadgen/load_recorder.h"

namespace ferry {

// Where calls go, and how.
struct ConnectionOptions {
  std::string target;  // HOST:PORT
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::vector<std::pair<std::string, std::string>> metadata;
  grpc_compression_algorithm compression = GRPC_COMPRESS_NONE;
  int channels = 1;        // connections; requests take turns on them
  bool streaming = false;  // ModelStreamInfer, a stream on each connection; else a call for each request
};

// A channel to the target with a connection of its own: channels with equal arguments would share one.
std::shared_ptr<grpc::Channel> OpenChannel(const ConnectionOptions& options);

// A request to be sent.
struct OutgoingRequest {
  const grpc::ByteBuffer& message;
  TimePoint due;
  size_t request = 0;       // for EndedRequest
  Duration deadline{};      // zero: none
  Duration cancel_after{};  // zero: never
};

// A request that has ended.
struct EndedRequest {
  CallTimes times;
  size_t request;
  const grpc::Status& status;
  grpc::ByteBuffer& answer;  // a ModelInferResponse, or of a stream a ModelStreamInferResponse
  bool given_up = false;     // it was to be cancelled after a while
};

// InferCaller sends requests that were serialized beforehand, as many at a time as it is told to, and neither parses nor
// copies what comes back, but for what a stream needs to tell whose answer it is.
//
// Threading: Start(), CancelAll(), Wake() and under_way() on any thread; Next() on one.
class InferCaller {
 public:
  using OnEnd = std::function<void(const EndedRequest&)>;

  static std::unique_ptr<InferCaller> Make(const ConnectionOptions& options);
  // REQUIRES: no request is under way.
  virtual ~InferCaller() = default;

  // Waits until each channel is connected.
  //   UNAVAILABLE  one is not after `patience`
  Status Connect(Duration patience);

  // The request is to end by `OnEnd` of Next(). A stream knows no deadlines and cancels nothing.
  virtual void Start(const OutgoingRequest& request) = 0;

  // Waits for something to happen, until `deadline` or Wake(), and tells `on_end` of each request that has ended by it.
  // False if nothing happened.
  virtual bool Next(TimePoint deadline, const OnEnd& on_end) = 0;

  // Gives up all that is under way, which ends soon.
  virtual void CancelAll() = 0;

  // Lets Next() return, the present one or the next.
  void Wake();

  size_t under_way() const { return under_way_.load(std::memory_order_relaxed); }

 protected:
  explicit InferCaller(const ConnectionOptions& options);

  // What a tag of the queue points to.
  struct Event {
    virtual ~Event() = default;
    // Takes itself back, which is to delete it unless it is needed again.
    virtual void Happened(bool ok, const OnEnd& on_end) = 0;
  };

  // One event of the queue until the deadline. False if there was none.
  bool NextEvent(TimePoint deadline, const OnEnd& on_end);
  // Takes all that is left of the queue. REQUIRES: nothing is under way and nothing is started any more.
  void Drain();

  const ConnectionOptions options_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  grpc::CompletionQueue queue_;
  std::atomic<size_t> turn_ = 0;
  std::atomic<size_t> under_way_ = 0;

 private:
  struct WakeUp;
};

// gRPC's clock.
std::chrono::system_clock::time_point ToSystem(TimePoint time);

}  // namespace ferry

#endif  // FERRY_LOADGEN_INFER_CALLER_H_
