#ifndef FERRY_FRONTEND_GRPC_INFER_CALL_H_
#define FERRY_FRONTEND_GRPC_INFER_CALL_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <memory>

#include "ferry/clock.h"
#include "ferry/model_repository.h"
#include "ferry/request.h"
#include "frontend/admission.h"

namespace ferry {

class InferMessage;
struct ValidRequest;

// What the calls of one server share. Outlives them.
struct InferCallEnvironment {
  grpc::AsyncGenericService& service;
  const ModelRepository& repository;
  Admission& admission;
  Clock& clock;
};

// InferCall is one ModelInfer call, from its headers to its answer, driven by the events of a completion queue. It is
// an async generic call: it sees the headers before the body is read, and bytes instead of messages.
//
// A client that gives up, or whose deadline passes, ends its request if that still waits; if it runs already its answer is
// dropped and counted.
//
// States: requested → (headers) → reading → (body) → in the pipeline → finishing. Two events end a call in either
// order: its answer has been sent, and gRPC is done with it (the client may be gone long before the answer). The call
// deletes itself after the second, never earlier: the year of crashes behind triton-inference-server/server#7368 was
// this.
//
// Threading: events come from the queue's thread; the answer comes once, from any thread.
class InferCall {
 public:
  // An event of the completion queue; the tag that the queue returns points to one.
  struct Event {
    InferCall* call;
    void (InferCall::*handle)(bool ok);
    void Run(bool ok) { (call->*handle)(ok); }
  };

  // Begins to wait for one call on `queue`. It replaces itself when it gets one.
  static void Accept(const InferCallEnvironment& environment, grpc::ServerCompletionQueue* queue);

 private:
  InferCall(const InferCallEnvironment& environment, grpc::ServerCompletionQueue* queue);

  void OnHeaders(bool ok);
  void OnBody(bool ok);
  void OnSent(bool ok);
  void OnDone(bool ok);

  // Parses, validates and submits the body. An error means that nothing was submitted.
  Status Submit();
  void SubmitTo(const ModelHandle& model, std::shared_ptr<InferMessage> message, ValidRequest valid);

  TimePoint Deadline() const;
  // By which the request can be cancelled: it waits only while this call lives.
  uint64_t Ticket() const { return reinterpret_cast<uintptr_t>(this); }

  void Answer(const grpc::ByteBuffer& response);
  void Fail(const Status& status);
  void Release();

  const InferCallEnvironment& environment_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer body_;
  TimePoint arrival_;
  int64_t message_bytes_ = 0;
  bool admitted_ = false;
  ModelHandle model_;  // once the request is submitted
  bool answered_ = false;
  std::atomic<bool> given_up_ = false;
  Event operation_{this, &InferCall::OnHeaders};
  Event done_{this, &InferCall::OnDone};
  std::atomic<int> outstanding_ = 2;  // sent, done
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_INFER_CALL_H_
