#include "frontend/grpc/grpc_call.h"

namespace ferry {

namespace {

// A call whose headers have not come yet.
class AwaitedCall {
 public:
  AwaitedCall(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue, const ServeCall& serve)
      : service_(service), queue_(queue), serve_(serve), call_(std::make_unique<GrpcCall>()) {
    call_->context.AsyncNotifyWhenDone(&call_->done);
    call_->operation.Set<&AwaitedCall::OnHeaders>(this);
    service_.RequestCall(&call_->context, &call_->stream, queue, queue, &call_->operation);
  }

  // Not ok: the server is shutting down and no call came; in this case alone `done` will not come.
  void OnHeaders(bool ok) {
    const std::unique_ptr<AwaitedCall> self(this);
    if (!ok) return;
    AcceptCalls(service_, queue_, serve_);
    serve_(std::move(call_));
  }

 private:
  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue* const queue_;
  const ServeCall& serve_;
  std::unique_ptr<GrpcCall> call_;
};

}  // namespace

TimePoint GrpcCall::Deadline(Clock& clock) const {
  constexpr int64_t kLongestSeconds = 365 * 86400;
  const gpr_timespec left =
      gpr_time_sub(gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC), gpr_now(GPR_CLOCK_MONOTONIC));
  if (left.tv_sec > kLongestSeconds) return kNever;
  return clock.Now() + std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

void AcceptCalls(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue, const ServeCall& serve) {
  new AwaitedCall(service, queue, serve);  // deletes itself when its event comes
}

}  // namespace ferry
