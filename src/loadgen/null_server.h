#ifndef FERRY_LOADGEN_NULL_SERVER_H_
#define FERRY_LOADGEN_NULL_SERVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <memory>
#include <thread>

#include "ferry/status.h"

namespace ferry {

// NullServer answers every unary call at once with as many bytes as it was told, and looks at nothing: what a generator sees
// against it is the generator and the host. One thread.
//
// Threading: any thread.
class NullServer {
 public:
  //   UNAVAILABLE  no port is free
  static Result<std::unique_ptr<NullServer>> Start(int64_t answer_bytes);
  ~NullServer();

  int port() const { return port_; }

 private:
  struct Call;
  explicit NullServer(int64_t answer_bytes);
  void Serve();

  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  grpc::ByteBuffer answer_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_NULL_SERVER_H_
