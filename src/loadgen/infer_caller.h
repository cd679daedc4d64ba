#ifndef FERRY_LOADGEN_INFER_CALLER_H_
#define FERRY_LOADGEN_INFER_CALLER_H_

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ferry/clock.h"
#include "ferry/mutex.h"
#include "ferry/status.h"
#include "loadgen/load_recorder.h"

namespace ferry {

// Where calls go, and how.
struct ConnectionOptions {
  std::string target;  // HOST:PORT
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::vector<std::pair<std::string, std::string>> metadata;
  grpc_compression_algorithm compression = GRPC_COMPRESS_NONE;
  int channels = 1;          // connections; calls take turns on them
  Duration call_deadline{};  // zero: calls have none
};

// A channel to the target with a connection of its own: channels with equal arguments would share one.
std::shared_ptr<grpc::Channel> OpenChannel(const ConnectionOptions& options);

// A call that has ended.
struct EndedCall {
  CallTimes times;
  size_t request;  // as Start() was told
  const grpc::Status& status;
  grpc::ByteBuffer& answer;
};

// InferCaller makes ModelInfer calls with messages that were serialized beforehand, as many at a time as it is told to, and
// neither parses nor copies what comes back.
//
// Threading: Start(), CancelAll(), Wake() and under_way() on any thread; Next() on one.
class InferCaller {
 public:
  using OnEnd = std::function<void(const EndedCall&)>;

  explicit InferCaller(const ConnectionOptions& options);
  // REQUIRES: no call is under way.
  ~InferCaller();

  // Waits until each channel is connected.
  //   UNAVAILABLE  one is not after `patience`
  Status Connect(Duration patience);

  // Sends the message. The call is to end by `OnEnd` of Next().
  void Start(const grpc::ByteBuffer& message, TimePoint due, size_t request);

  // Waits for the end of a call, until `deadline` or Wake(), and tells `on_end`. False if there was none.
  bool Next(TimePoint deadline, const OnEnd& on_end);

  // Gives up all calls under way; they end soon.
  void CancelAll();

  // Lets Next() return, the present one or the next.
  void Wake();

  size_t under_way() const { return under_way_.load(std::memory_order_relaxed); }

 private:
  struct Event;
  struct Call;
  struct WakeUp;

  void Link(Call* call);
  void Unlink(Call* call);

  const ConnectionOptions options_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  std::atomic<size_t> turn_ = 0;
  std::atomic<size_t> under_way_ = 0;
  Mutex mutex_;
  Call* first_ FERRY_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_INFER_CALLER_H_
