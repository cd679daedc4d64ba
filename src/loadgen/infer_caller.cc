#include "loadgen/infer_caller.h"

#include <grpcpp/alarm.h>
#include <grpcpp/create_channel.h>

#include "base/strings.h"
#include "ferry/check.h"

namespace ferry {

namespace {

constexpr char kModelInfer[] = "/inference.GRPCInferenceService/ModelInfer";

// gRPC's queues wait by the system's clock.
std::chrono::system_clock::time_point ToSystem(TimePoint time) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(time - std::chrono::steady_clock::now());
}

}  // namespace

// What the queue's tags point to.
struct InferCaller::Event {
  explicit Event(bool call) : is_call(call) {}
  virtual ~Event() = default;
  const bool is_call;
};

struct InferCaller::WakeUp : Event {
  WakeUp() : Event(false) {}
  grpc::Alarm alarm;
};

// In a list of all that are under way, for CancelAll().
struct InferCaller::Call : Event {
  Call() : Event(true) {}
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer answer;
  grpc::Status status;
  CallTimes times;
  size_t request = 0;
  Call* previous = nullptr;
  Call* next = nullptr;
};

std::shared_ptr<grpc::Channel> OpenChannel(const ConnectionOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  if (options.compression != GRPC_COMPRESS_NONE) arguments.SetCompressionAlgorithm(options.compression);
  return grpc::CreateCustomChannel(options.target, options.credentials, arguments);
}

InferCaller::InferCaller(const ConnectionOptions& options) : options_(options) {
  for (int i = 0; i < options_.channels; ++i) {
    channels_.push_back(OpenChannel(options_));
    stubs_.push_back(std::make_unique<grpc::GenericStub>(channels_.back()));
  }
}

InferCaller::~InferCaller() {
  FERRY_CHECK(under_way() == 0, "each call has ended");
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) delete static_cast<Event*>(tag);
}

Status InferCaller::Connect(Duration patience) {
  const TimePoint deadline = std::chrono::steady_clock::now() + patience;
  for (const auto& channel : channels_) {
    if (!channel->WaitForConnected(ToSystem(deadline))) {
      return UnavailableError(StrCat("no connection to ", options_.target, " within ",
                                     std::chrono::duration<double>(patience).count(), " s"));
    }
  }
  return Status();
}

void InferCaller::Start(const grpc::ByteBuffer& message, TimePoint due, size_t request) {
  auto* call = new Call;  // deleted by Next()
  for (const auto& [key, value] : options_.metadata) call->context.AddMetadata(key, value);
  grpc::GenericStub& stub = *stubs_[turn_.fetch_add(1, std::memory_order_relaxed) % stubs_.size()];
  call->request = request;
  call->times.due = due;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  Link(call);
  call->times.sent = std::chrono::steady_clock::now();
  if (options_.call_deadline > Duration::zero()) {
    call->context.set_deadline(ToSystem(call->times.sent + options_.call_deadline));
  }
  call->reader = stub.PrepareUnaryCall(&call->context, kModelInfer, message, &queue_);
  call->reader->StartCall();
  call->reader->Finish(&call->answer, &call->status, static_cast<Event*>(call));
}

bool InferCaller::Next(TimePoint deadline, const OnEnd& on_end) {
  void* tag = nullptr;
  bool ok = false;
  const auto until = deadline == kNever ? std::chrono::system_clock::time_point::max() : ToSystem(deadline);
  if (queue_.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) return false;
  const TimePoint done = std::chrono::steady_clock::now();
  const std::unique_ptr<Event> event(static_cast<Event*>(tag));
  if (!event->is_call) return false;
  auto* const call = static_cast<Call*>(event.get());
  call->times.done = done;
  Unlink(call);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  on_end({call->times, call->request, call->status, call->answer});
  return true;
}

void InferCaller::Wake() {
  auto* wake = new WakeUp;  // deleted by Next()
  wake->alarm.Set(&queue_, gpr_now(GPR_CLOCK_MONOTONIC), static_cast<Event*>(wake));
}

void InferCaller::CancelAll() {
  MutexLock lock(mutex_);
  for (Call* call = first_; call != nullptr; call = call->next) call->context.TryCancel();
}

void InferCaller::Link(Call* call) {
  MutexLock lock(mutex_);
  call->next = first_;
  if (first_ != nullptr) first_->previous = call;
  first_ = call;
}

void InferCaller::Unlink(Call* call) {
  MutexLock lock(mutex_);
  (call->previous == nullptr ? first_ : call->previous->next) = call->next;
  if (call->next != nullptr) call->next->previous = call->previous;
}

}  // namespace ferry
