#include "loadgen/infer_caller.h"

#include <grpcpp/alarm.h>
#include <grpcpp/create_channel.h>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/stream_caller.h"
#include "loadgen/unary_caller.h"

namespace ferry {

std::chrono::system_clock::time_point ToSystem(TimePoint time) {
  if (time == kNever) return std::chrono::system_clock::time_point::max();
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(time - std::chrono::steady_clock::now());
}

std::shared_ptr<grpc::Channel> OpenChannel(const ConnectionOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  if (options.compression != GRPC_COMPRESS_NONE) arguments.SetCompressionAlgorithm(options.compression);
  return grpc::CreateCustomChannel(options.target, options.credentials, arguments);
}

struct InferCaller::WakeUp : Event {
  void Happened(bool /*ok*/, const OnEnd& /*on_end*/) override { delete this; }
  grpc::Alarm alarm;
};

std::unique_ptr<InferCaller> InferCaller::Make(const ConnectionOptions& options) {
  if (options.streaming) return std::make_unique<StreamCaller>(options);
  return std::make_unique<UnaryCaller>(options);
}

InferCaller::InferCaller(const ConnectionOptions& options) : options_(options) {
  for (int i = 0; i < options_.channels; ++i) channels_.push_back(OpenChannel(options_));
}

Status InferCaller::Connect(Duration patience) {
  const TimePoint deadline = std::chrono::steady_clock::now() + patience;
  for (const auto& channel : channels_) {
    if (!channel->WaitForConnected(ToSystem(deadline))) {
      return UnavailableError(StrCat("no connection to ", options_.target, " within ", Seconds(patience), " s"));
    }
  }
  return Status();
}

bool InferCaller::NextEvent(TimePoint deadline, const OnEnd& on_end) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, ToSystem(deadline)) != grpc::CompletionQueue::GOT_EVENT) return false;
  static_cast<Event*>(tag)->Happened(ok, on_end);
  return true;
}

void InferCaller::Drain() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) static_cast<Event*>(tag)->Happened(ok, [](const EndedRequest&) {});
}

void InferCaller::Wake() {
  auto* wake = new WakeUp;  // until it happens
  wake->alarm.Set(&queue_, gpr_now(GPR_CLOCK_MONOTONIC), static_cast<Event*>(wake));
}

}  // namespace ferry
