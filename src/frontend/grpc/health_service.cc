#include "frontend/grpc/health_service.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <optional>
#include <utility>

namespace ferry {

namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Empties the buffer; nothing if these are not the bytes of a request.
std::optional<std::string> NameIn(grpc::ByteBuffer* body) {
  HealthCheckRequest request;
  if (!grpc::SerializationTraits<HealthCheckRequest>::Deserialize(body, &request).ok()) return std::nullopt;
  return request.service();
}

grpc::ByteBuffer ResponseOf(HealthCheckResponse::ServingStatus status) {
  HealthCheckResponse response;
  response.set_status(status);
  const grpc::Slice slice(response.SerializeAsString());
  return {&slice, 1};
}

grpc::Status NoRequest() { return {grpc::StatusCode::INVALID_ARGUMENT, "the message is not a HealthCheckRequest"}; }

}  // namespace

// Tells the status at once and after each change. What changes while it is writing is told as it is afterwards.
class HealthService::WatchCall {
 public:
  WatchCall(HealthService& service, std::unique_ptr<GrpcCall> call) : service_(service), call_(std::move(call)) {
    call_->done.Set<&WatchCall::OnDone>(this);
    call_->operation.Set<&WatchCall::OnBody>(this);
    call_->stream.Read(&body_, &call_->operation);
  }

  // With the service's lock held.
  void Tell() {
    const ServingStatus status = service_.Find(name_);
    if (busy_ || done_ || status == told_) return;
    told_ = status;
    busy_ = true;
    call_->operation.Set<&WatchCall::OnWritten>(this);
    call_->stream.Write(ResponseOf(status), &call_->operation);
  }

 private:
  void OnBody(bool ok) {
    const std::optional<std::string> name = ok ? NameIn(&body_) : std::nullopt;
    MutexLock lock(service_.mutex_);
    busy_ = false;
    if (done_ || !name) return Finish(NoRequest());
    name_ = *name;
    service_.watches_.insert(this);
    Tell();
  }

  void OnWritten(bool) {
    MutexLock lock(service_.mutex_);
    busy_ = false;
    if (done_) return Finish(grpc::Status::CANCELLED);
    Tell();
  }

  // The client is gone, or the server stops.
  void OnDone(bool) {
    bool last = false;
    {
      MutexLock lock(service_.mutex_);
      done_ = true;
      service_.watches_.erase(this);
      last = finished_;
      if (!busy_ && !finishing_) Finish(grpc::Status::CANCELLED);
    }
    if (last) delete this;
  }

  void Finish(const grpc::Status& status) {
    finishing_ = true;
    call_->operation.Set<&WatchCall::OnFinished>(this);
    call_->stream.Finish(status, &call_->operation);
  }

  void OnFinished(bool) {
    bool last = false;
    {
      MutexLock lock(service_.mutex_);
      finished_ = true;
      last = done_;
    }
    if (last) delete this;
  }

  HealthService& service_;
  const std::unique_ptr<GrpcCall> call_;
  grpc::ByteBuffer body_;
  // The rest is guarded by the service's lock.
  std::string name_;
  ServingStatus told_ = HealthCheckResponse::UNKNOWN;
  bool busy_ = true;  // an operation is under way: the read, or a write
  bool finishing_ = false;
  bool finished_ = false;
  bool done_ = false;
};

HealthService::ServingStatus HealthService::Find(const std::string& name) const {
  const auto found = serving_.find(name);
  if (found == serving_.end()) return HealthCheckResponse::SERVICE_UNKNOWN;
  return found->second ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

void HealthService::Set(const std::string& name, bool serving) {
  MutexLock lock(mutex_);
  serving_[name] = serving;
  for (WatchCall* watch : watches_) watch->Tell();
}

void HealthService::SetAll(bool serving) {
  MutexLock lock(mutex_);
  for (auto& [name, known] : serving_) known = serving;
  for (WatchCall* watch : watches_) watch->Tell();
}

grpc::Status HealthService::Check(grpc::ServerContext*, const HealthCheckRequest* request,
                                  HealthCheckResponse* response) {
  MutexLock lock(mutex_);
  const ServingStatus status = Find(request->service());
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) return {grpc::StatusCode::NOT_FOUND, "service name unknown"};
  response->set_status(status);
  return grpc::Status::OK;
}

void HealthService::ServeWatch(std::unique_ptr<GrpcCall> call) {
  new WatchCall(*this, std::move(call));  // deletes itself
}

}  // namespace ferry
