#ifndef FERRY_FRONTEND_GRPC_HEALTH_SERVICE_H_
#define FERRY_FRONTEND_GRPC_HEALTH_SERVICE_H_

#include <map>
#include <memory>
#include <set>
#include <string>

#include "ferry/mutex.h"
#include "frontend/grpc/grpc_call.h"
#include "health.grpc.pb.h"

namespace ferry {

// HealthService answers grpc.health.v1: "" is the server, other names are services and models. gRPC's own service uses the
// callback API, whose threads poll the connections of the infer calls as well, which costs those calls a tenth of their
// time. Here Check is a synchronous method, and Watch, which may last for days, a call of the generic service.
//
// Threading: thread-safe. Outlives its calls.
class HealthService final
    : public grpc::health::v1::Health::WithGenericMethod_Watch<grpc::health::v1::Health::Service> {
 public:
  void Set(const std::string& name, bool serving);
  // Every name that has been set.
  void SetAll(bool serving);

  //   NOT_FOUND  the name has never been set
  grpc::Status Check(grpc::ServerContext* context, const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override;

  // Serves a Watch call whose headers are here.
  void ServeWatch(std::unique_ptr<GrpcCall> call);

 private:
  using ServingStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class WatchCall;

  ServingStatus Find(const std::string& name) const FERRY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, bool> serving_ FERRY_GUARDED_BY(mutex_);
  std::set<WatchCall*> watches_ FERRY_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_HEALTH_SERVICE_H_
