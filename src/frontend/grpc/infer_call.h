#ifndef FERRY_FRONTEND_GRPC_INFER_CALL_H_
#define FERRY_FRONTEND_GRPC_INFER_CALL_H_

#include <atomic>
#include <memory>

#include "frontend/admission.h"
#include "frontend/grpc/grpc_call.h"
#include "frontend/grpc/infer_service.h"

namespace ferry {

// InferCall is one ModelInfer call, from its headers to its answer, driven by the events of a completion queue.
//
// A client that gives up, or whose deadline passes, ends its request if that still waits; if it runs already its answer is
// dropped and counted.
//
// States: reading → (body) → in the service → finishing. Two events end a call in either order: its answer has been sent,
// and gRPC is done with it (the client may be gone long before the answer). The call deletes itself after the second.
//
// Threading: events come from the queue's thread; the answer comes once, from any thread.
class InferCall {
 public:
  // Serves a call whose headers are here.
  static void Serve(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call);

  // Ends a call without looking at its body.
  static void Refuse(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call, const Status& status);

 private:
  InferCall(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call);

  void OnBody(bool ok);
  void OnSent(bool ok);
  void OnDone(bool ok);

  // By which the request can be cancelled: it waits only while this call lives.
  uint64_t Ticket() const { return reinterpret_cast<uintptr_t>(this); }

  void Answer(const grpc::ByteBuffer& response);
  void Fail(const Status& status);
  void Release();

  InferService& service_;
  Admission& admission_;
  const std::unique_ptr<GrpcCall> call_;
  grpc::ByteBuffer body_;
  int64_t message_bytes_ = 0;
  bool admitted_ = false;
  ModelHandle model_;  // once the request is submitted
  bool answered_ = false;
  std::atomic<bool> given_up_ = false;
  std::atomic<int> outstanding_ = 2;  // sent, done
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_INFER_CALL_H_
