#ifndef FERRY_LOADGEN_UNARY_CALLER_H_
#define FERRY_LOADGEN_UNARY_CALLER_H_

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <vector>

#include "ferry/mutex.h"
#include "loadgen/infer_caller.h"

namespace ferry {

// UnaryCaller makes a ModelInfer call for each request.
class UnaryCaller : public InferCaller {
 public:
  explicit UnaryCaller(const ConnectionOptions& options);
  ~UnaryCaller() override;

  void Start(const OutgoingRequest& request) override;
  bool Next(TimePoint deadline, const OnEnd& on_end) override { return NextEvent(deadline, on_end); }
  void CancelAll() override;

 private:
  struct Call;
  struct CancelTimer;

  void Link(Call* call);
  void Unlink(Call* call);

  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  Mutex mutex_;
  Call* first_ FERRY_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_UNARY_CALLER_H_
