#ifndef FERRY_FRONTEND_GRPC_GRPC_CALL_H_
#define FERRY_FRONTEND_GRPC_GRPC_CALL_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>

#include "ferry/clock.h"

// gRPC's queues keep the beginning of an operation and its end in order, which ThreadSanitizer cannot see in a library that
// it was not built into.
#ifdef FERRY_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define FERRY_ORDER_BEFORE(event) __tsan_release(event)
#define FERRY_ORDER_AFTER(event) __tsan_acquire(event)
#else
#define FERRY_ORDER_BEFORE(event) static_cast<void>(event)
#define FERRY_ORDER_AFTER(event) static_cast<void>(event)
#endif

namespace ferry {

// An event of a completion queue: the tag that the queue returns points to one. It calls a method of an object.
class CallEvent {
 public:
  // What comes before is seen by the method: set it last, before the operation whose end it is.
  template <auto kMethod, class Target>
  void Set(Target* target) {
    target_ = target;
    run_ = [](void* object, bool ok) { (static_cast<Target*>(object)->*kMethod)(ok); };
    FERRY_ORDER_BEFORE(this);
  }
  void Run(bool ok) {
    FERRY_ORDER_AFTER(this);
    run_(target_, ok);
  }

 private:
  void* target_ = nullptr;
  void (*run_)(void*, bool) = nullptr;
};

// One call of the async generic service, which shows headers before a body is read, and bytes instead of messages. Whoever
// has it uses `operation` for one operation at a time, and sets `done` at once: it comes when gRPC is done with the call,
// be it that its client is gone or that it was finished. Both must have come back before the call is destroyed; the year
// of crashes behind triton-inference-server/server#7368 was this.
struct GrpcCall {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  CallEvent operation;
  CallEvent done;

  // When its client stops waiting, on `clock`.
  TimePoint Deadline(Clock& clock) const;
};

// Takes calls from `queue` for as long as it has any, and hands each over on the queue's thread as soon as its headers are
// here. `serve` outlives the queue's events.
using ServeCall = std::function<void(std::unique_ptr<GrpcCall>)>;
void AcceptCalls(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue, const ServeCall& serve);

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_GRPC_CALL_H_
