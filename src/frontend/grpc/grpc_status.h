#ifndef FERRY_FRONTEND_GRPC_GRPC_STATUS_H_
#define FERRY_FRONTEND_GRPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "ferry/status.h"

namespace ferry {

// The one place where codes become gRPC's. Their numbers are equal by definition.
inline grpc::Status ToGrpc(const Status& status) {
  return {static_cast<grpc::StatusCode>(static_cast<int>(status.code())), status.message()};
}

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_GRPC_STATUS_H_
