#include "frontend/grpc/control_service.h"

#include "base/strings.h"
#include "ferry/version.h"
#include "frontend/grpc/control_messages.h"
#include "frontend/grpc/grpc_status.h"

namespace ferry {

namespace {

grpc::Status Unimplemented(const char* message) { return ToGrpc(UnimplementedError(message)); }

grpc::Status NoSharedMemory() { return Unimplemented("shared memory is not supported by this server"); }

// Triton's answer when the model control mode is not "explicit".
grpc::Status NoModelControl() {
  return ToGrpc(UnavailableError("explicit model load / unload is not allowed: models are loaded at start only"));
}

// ModelStatistics, unlike the other methods, answers INVALID_ARGUMENT for whatever model it has no statistics of.
Status AsStatisticsError(const Status& status) {
  return InvalidArgumentError(StrCat("no statistics: ", status.message()));
}

// What this server offers beyond the plain protocol. perf_analyzer and others rely on what is listed.
constexpr const char* kExtensions[] = {"classification", "model_configuration", "binary_tensor_data", "parameters",
                                       "statistics"};

}  // namespace

ControlService::ControlService(Options options, const ModelRepository& repository, const Admission& admission)
    : options_(std::move(options)), repository_(repository), admission_(admission) {}

bool ControlService::Ready() const {
  if (admission_.closed()) return false;
  return options_.strict_readiness ? repository_.AllReady() : repository_.Loaded();
}

grpc::Status ControlService::ServerLive(grpc::ServerContext*, const inference::ServerLiveRequest*,
                                        inference::ServerLiveResponse* response) {
  response->set_live(true);
  return grpc::Status::OK;
}

grpc::Status ControlService::ServerReady(grpc::ServerContext*, const inference::ServerReadyRequest*,
                                         inference::ServerReadyResponse* response) {
  response->set_ready(Ready());
  return grpc::Status::OK;
}

grpc::Status ControlService::ModelReady(grpc::ServerContext*, const inference::ModelReadyRequest* request,
                                        inference::ModelReadyResponse* response) {
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return ToGrpc(model.status());
  response->set_ready(!admission_.closed());
  return grpc::Status::OK;
}

grpc::Status ControlService::ServerMetadata(grpc::ServerContext*, const inference::ServerMetadataRequest*,
                                            inference::ServerMetadataResponse* response) {
  response->set_name(options_.server_id);
  response->set_version(std::string(kVersion));
  for (const char* extension : kExtensions) response->add_extensions(extension);
  return grpc::Status::OK;
}

grpc::Status ControlService::ModelMetadata(grpc::ServerContext*, const inference::ModelMetadataRequest* request,
                                           inference::ModelMetadataResponse* response) {
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return ToGrpc(model.status());
  FillMetadata((*model)->config(), repository_.ReadyVersions(request->name()), response);
  return grpc::Status::OK;
}

grpc::Status ControlService::ModelConfig(grpc::ServerContext*, const inference::ModelConfigRequest* request,
                                         inference::ModelConfigResponse* response) {
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return ToGrpc(model.status());
  response->mutable_config()->ParseFromString((*model)->config().serialized);
  return grpc::Status::OK;
}

grpc::Status ControlService::ModelStatistics(grpc::ServerContext*, const inference::ModelStatisticsRequest* request,
                                             inference::ModelStatisticsResponse* response) {
  if (request->name().empty()) {
    for (const ModelHandle& model : repository_.ReadyModels()) FillStatistics(*model, response->add_model_stats());
    return grpc::Status::OK;
  }
  if (request->version().empty()) {
    // Every version that is ready; the look-up is for its error.
    const Result<ModelHandle> any = repository_.Find(request->name(), "");
    if (!any.ok()) return ToGrpc(AsStatisticsError(any.status()));
    for (const ModelHandle& model : repository_.ReadyModels()) {
      if (model->config().name == request->name()) FillStatistics(*model, response->add_model_stats());
    }
    return grpc::Status::OK;
  }
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return ToGrpc(AsStatisticsError(model.status()));
  FillStatistics(**model, response->add_model_stats());
  return grpc::Status::OK;
}

grpc::Status ControlService::RepositoryIndex(grpc::ServerContext*, const inference::RepositoryIndexRequest* request,
                                             inference::RepositoryIndexResponse* response) {
  if (!request->repository_name().empty()) {
    return Unimplemented("'repository_name' specification is not supported");
  }
  FillIndex(repository_.Index(request->ready()), response);
  return grpc::Status::OK;
}

grpc::Status ControlService::RepositoryModelLoad(grpc::ServerContext*, const inference::RepositoryModelLoadRequest*,
                                                 inference::RepositoryModelLoadResponse*) {
  return NoModelControl();
}

grpc::Status ControlService::RepositoryModelUnload(grpc::ServerContext*, const inference::RepositoryModelUnloadRequest*,
                                                   inference::RepositoryModelUnloadResponse*) {
  return NoModelControl();
}

grpc::Status ControlService::SystemSharedMemoryStatus(grpc::ServerContext*,
                                                      const inference::SystemSharedMemoryStatusRequest*,
                                                      inference::SystemSharedMemoryStatusResponse*) {
  return NoSharedMemory();
}

grpc::Status ControlService::SystemSharedMemoryRegister(grpc::ServerContext*,
                                                        const inference::SystemSharedMemoryRegisterRequest*,
                                                        inference::SystemSharedMemoryRegisterResponse*) {
  return NoSharedMemory();
}

grpc::Status ControlService::SystemSharedMemoryUnregister(grpc::ServerContext*,
                                                          const inference::SystemSharedMemoryUnregisterRequest*,
                                                          inference::SystemSharedMemoryUnregisterResponse*) {
  return NoSharedMemory();
}

grpc::Status ControlService::CudaSharedMemoryStatus(grpc::ServerContext*,
                                                    const inference::CudaSharedMemoryStatusRequest*,
                                                    inference::CudaSharedMemoryStatusResponse*) {
  return NoSharedMemory();
}

grpc::Status ControlService::CudaSharedMemoryRegister(grpc::ServerContext*,
                                                      const inference::CudaSharedMemoryRegisterRequest*,
                                                      inference::CudaSharedMemoryRegisterResponse*) {
  return NoSharedMemory();
}

grpc::Status ControlService::CudaSharedMemoryUnregister(grpc::ServerContext*,
                                                        const inference::CudaSharedMemoryUnregisterRequest*,
                                                        inference::CudaSharedMemoryUnregisterResponse*) {
  return NoSharedMemory();
}

grpc::Status ControlService::TraceSetting(grpc::ServerContext*, const inference::TraceSettingRequest*,
                                          inference::TraceSettingResponse*) {
  return Unimplemented("tracing is not supported by this server");
}

grpc::Status ControlService::LogSettings(grpc::ServerContext*, const inference::LogSettingsRequest*,
                                         inference::LogSettingsResponse*) {
  return Unimplemented("log settings are given by flags and cannot be changed over the network");
}

}  // namespace ferry
