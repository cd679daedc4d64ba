#include "frontend/grpc/infer_call.h"

#include "frontend/grpc/grpc_status.h"

namespace ferry {

InferCall::InferCall(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call)
    : service_(service), admission_(admission), call_(std::move(call)) {
  call_->done.Set<&InferCall::OnDone>(this);
}

void InferCall::Serve(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> grpc_call) {
  // A body that would be refused is not even read.
  if (const Status status = admission.BeginCall(); !status.ok()) {
    return Refuse(service, admission, std::move(grpc_call), status);
  }
  auto* call = new InferCall(service, admission, std::move(grpc_call));
  call->call_->operation.Set<&InferCall::OnBody>(call);
  call->call_->stream.Read(&call->body_, &call->call_->operation);
}

void InferCall::Refuse(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call,
                       const Status& status) {
  (new InferCall(service, admission, std::move(call)))->Fail(status);
}

void InferCall::OnBody(bool ok) {
  if (!ok) {
    admission_.Abandon();
    return Fail(CancelledError("the call ended before its message was complete"));
  }
  message_bytes_ = static_cast<int64_t>(body_.Length());
  if (const Status status = admission_.TakeMessage(message_bytes_); !status.ok()) return Fail(status);
  admitted_ = true;
  Clock& clock = service_.clock();
  const InferJob job{&body_, clock.Now(), call_->Deadline(clock), Ticket(), &given_up_, /*in_stream=*/false, {}};
  service_.Submit(
      job, [this](const ModelHandle& model) { model_ = model; },
      [this](InferAnswer answer) { answer.bytes.ok() ? Answer(*answer.bytes) : Fail(answer.bytes.status()); });
}

// Once the operation below is started the call may be deleted by the queue's thread at any moment.
void InferCall::Answer(const grpc::ByteBuffer& response) {
  answered_ = true;
  call_->operation.Set<&InferCall::OnSent>(this);
  call_->stream.WriteAndFinish(response, grpc::WriteOptions(), grpc::Status::OK, &call_->operation);
}

void InferCall::Fail(const Status& status) {
  call_->operation.Set<&InferCall::OnSent>(this);
  call_->stream.Finish(ToGrpc(status), &call_->operation);
}

// `ok` is false when the client is gone, which changes nothing any more.
void InferCall::OnSent(bool ok) {
  if (answered_ && !ok) model_->statistics().RecordDroppedReply();
  if (admitted_) admission_.Leave(message_bytes_);
  Release();
}

void InferCall::OnDone(bool) {
  if (call_->context.IsCancelled()) {
    given_up_ = true;
    if (model_) model_->Cancel(Ticket());
  }
  Release();
}

void InferCall::Release() {
  if (outstanding_.fetch_sub(1) == 1) delete this;
}

}  // namespace ferry
