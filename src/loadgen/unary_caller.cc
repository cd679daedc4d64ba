#include "loadgen/unary_caller.h"

#include <grpcpp/alarm.h>

#include "ferry/check.h"

namespace ferry {

namespace {

constexpr char kModelInfer[] = "/inference.GRPCInferenceService/ModelInfer";

}  // namespace

// In a list of all that are under way, for CancelAll().
struct UnaryCaller::Call : Event {
  explicit Call(UnaryCaller& caller) : owner(caller) {}
  void Happened(bool ok, const OnEnd& on_end) override;

  UnaryCaller& owner;
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer answer;
  grpc::Status status;
  CallTimes times;
  size_t request = 0;
  CancelTimer* timer = nullptr;  // that has not run out yet
  bool given_up = false;
  Call* previous = nullptr;
  Call* next = nullptr;
};

// Call and timer know of each other until the first of them happens. Both happen on the thread of Next().
struct UnaryCaller::CancelTimer : Event {
  explicit CancelTimer(Call* cancelled) : call(cancelled) {}
  void Happened(bool /*ok*/, const OnEnd& /*on_end*/) override {
    if (call != nullptr) {
      call->timer = nullptr;
      call->given_up = true;
      call->context.TryCancel();
    }
    delete this;
  }

  grpc::Alarm alarm;
  Call* call;
};

void UnaryCaller::Call::Happened(bool /*ok*/, const OnEnd& on_end) {
  times.done = std::chrono::steady_clock::now();
  if (timer != nullptr) {
    timer->call = nullptr;
    timer->alarm.Cancel();
  }
  owner.Unlink(this);
  owner.under_way_.fetch_sub(1, std::memory_order_relaxed);
  on_end({times, request, status, answer, given_up});
  delete this;
}

UnaryCaller::UnaryCaller(const ConnectionOptions& options) : InferCaller(options) {
  for (const auto& channel : channels_) stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
}

UnaryCaller::~UnaryCaller() {
  FERRY_CHECK(under_way() == 0, "each call has ended");
  Drain();
}

void UnaryCaller::Start(const OutgoingRequest& request) {
  auto* call = new Call(*this);  // until it happens
  for (const auto& [key, value] : options_.metadata) call->context.AddMetadata(key, value);
  grpc::GenericStub& stub = *stubs_[turn_.fetch_add(1, std::memory_order_relaxed) % stubs_.size()];
  call->request = request.request;
  call->times.due = request.due;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  Link(call);
  call->times.sent = std::chrono::steady_clock::now();
  if (request.deadline > Duration::zero()) call->context.set_deadline(ToSystem(call->times.sent + request.deadline));
  call->reader = stub.PrepareUnaryCall(&call->context, kModelInfer, request.message, &queue_);
  if (request.cancel_after > Duration::zero()) {
    // Before the call may end, at which it looks for its timer.
    call->timer = new CancelTimer(call);
    call->timer->alarm.Set(&queue_, ToSystem(call->times.sent + request.cancel_after),
                           static_cast<Event*>(call->timer));
  }
  call->reader->StartCall();
  call->reader->Finish(&call->answer, &call->status, static_cast<Event*>(call));
}

void UnaryCaller::CancelAll() {
  MutexLock lock(mutex_);
  for (Call* call = first_; call != nullptr; call = call->next) call->context.TryCancel();
}

void UnaryCaller::Link(Call* call) {
  MutexLock lock(mutex_);
  call->next = first_;
  if (first_ != nullptr) first_->previous = call;
  first_ = call;
}

void UnaryCaller::Unlink(Call* call) {
  MutexLock lock(mutex_);
  (call->previous == nullptr ? first_ : call->previous->next) = call->next;
  if (call->next != nullptr) call->next->previous = call->previous;
}

}  // namespace ferry
