#ifndef FERRY_FRONTEND_GRPC_INFER_STREAM_H_
#define FERRY_FRONTEND_GRPC_INFER_STREAM_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ferry/mutex.h"
#include "frontend/admission.h"
#include "frontend/grpc/grpc_call.h"
#include "frontend/grpc/infer_service.h"

namespace ferry {

// InferStream is one ModelStreamInfer call. Its requests run side by side; their answers leave in the order of the
// requests. An error is an answer like any other and leaves the stream open, unless the client has sent the metadata
// triton_grpc_error: true, which makes the first one end the call with its status (Triton's rules).
//
// The stream is read for as long as fewer than kMostOpen of its requests are open; then the client has to wait.
//
// Threading: events come from the queue's thread, answers from any thread. It deletes itself when gRPC and all of its
//            requests are done with it.
class InferStream {
 public:
  static constexpr size_t kMostOpen = 512;

  // Serves a call whose headers are here.
  static void Serve(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call);

 private:
  // A request whose answer has not been written yet. Its address is its ticket.
  struct Open {
    bool admitted = false;
    int64_t bytes = 0;
    ModelHandle model;  // once it is submitted
    std::optional<InferAnswer> answer;
  };
  // They may hold the last handle of a model, so they are destroyed without the lock.
  using Requests = std::vector<std::unique_ptr<Open>>;

  InferStream(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call);

  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnDone(bool ok);

  void TakeMessage();
  void Answered(Open& open, InferAnswer answer);

  void GiveUp();

  // Starts what can be started: the next write, the end, the next read. Returns the requests that this ends.
  Requests Proceed() FERRY_REQUIRES(mutex_);
  void ReadNext() FERRY_REQUIRES(mutex_);
  void WriteNext() FERRY_REQUIRES(mutex_);
  void Finish(const Status& status) FERRY_REQUIRES(mutex_);
  void Leave(const Open& open);

  // Gives up one of the references, perhaps the last.
  void Release();

  InferService& service_;
  Admission& admission_;
  const std::unique_ptr<GrpcCall> call_;
  const bool errors_end_it_;
  std::atomic<bool> given_up_ = false;
  // One for each operation that gRPC has, for `done`, and for each open request.
  std::atomic<int> references_ = 0;

  CallEvent read_;
  grpc::ByteBuffer message_;

  Mutex mutex_;
  std::deque<std::unique_ptr<Open>> open_ FERRY_GUARDED_BY(mutex_);
  bool reading_ FERRY_GUARDED_BY(mutex_) = false;
  bool writing_ FERRY_GUARDED_BY(mutex_) = false;
  bool read_all_ FERRY_GUARDED_BY(mutex_) = false;  // the client sends no more
  bool finished_ FERRY_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_INFER_STREAM_H_
