#ifndef FERRY_FRONTEND_GRPC_GRPC_SERVER_H_
#define FERRY_FRONTEND_GRPC_GRPC_SERVER_H_

#include <memory>
#include <string>

#include "execution/output_memory.h"
#include "ferry/clock.h"
#include "ferry/model_repository.h"
#include "frontend/admission.h"

namespace ferry {

// GrpcServer is the gRPC door: ModelInfer and ModelStreamInfer on completion queues with threads of their own, the other methods,
// health and reflection. No gRPC type shows here.
//
// Threading: Start(), CloseCalls() and Stop() by the owner; SetModelServing() and UpdateServing() from any thread.
// Ownership: borrows the repository, the admission, the memory of outputs and the clock.
class GrpcServer {
 public:
  struct Options {
    std::string address = "0.0.0.0";
    int port = 8001;                    // 0: any free one, see port()
    int infer_threads = 1;              // completion queues for infer calls, with a thread each
    int max_message_bytes = 256 << 20;  // of one message, after decompression
    std::string server_id = "ferry";
    bool strict_readiness = true;
  };

  GrpcServer(Options options, const ModelRepository& repository, Admission& admission, OutputMemory& outputs,
             Clock& clock);
  ~GrpcServer();

  // UNAVAILABLE when the port cannot be had, also when another server has it.
  Status Start();
  int port() const;

  // What grpc.health.v1 answers for a model.
  void SetModelServing(const std::string& model, bool serving);
  // Recomputes what grpc.health.v1 answers for the server: after a load has ended, and when the door closes.
  void UpdateServing();

  // Closes the port and cancels the calls that are left after `grace`. Returns when every call has been answered.
  void CloseCalls(Duration grace);

  // CloseCalls(), and everything else. Close the admission and let its calls leave first.
  void Stop(Duration grace);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_GRPC_SERVER_H_
