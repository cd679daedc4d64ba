#include "frontend/grpc/control_service.h"

#include "base/strings.h"
#include "ferry/version.h"
#include "frontend/grpc/control_messages.h"
#include "frontend/grpc/grpc_status.h"

namespace ferry {

namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

ServerUnaryReactor* Finish(CallbackServerContext* context, const Status& status = Status()) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

ServerUnaryReactor* NoSharedMemory(CallbackServerContext* context) {
  return Finish(context, UnimplementedError("shared memory is not supported by this server"));
}

// Triton's answer when the model control mode is not "explicit".
ServerUnaryReactor* NoModelControl(CallbackServerContext* context) {
  return Finish(context,
                UnavailableError("explicit model load / unload is not allowed: models are loaded at start only"));
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

ServerUnaryReactor* ControlService::ServerLive(CallbackServerContext* context, const inference::ServerLiveRequest*,
                                               inference::ServerLiveResponse* response) {
  response->set_live(true);
  return Finish(context);
}

ServerUnaryReactor* ControlService::ServerReady(CallbackServerContext* context, const inference::ServerReadyRequest*,
                                                inference::ServerReadyResponse* response) {
  response->set_ready(Ready());
  return Finish(context);
}

ServerUnaryReactor* ControlService::ModelReady(CallbackServerContext* context,
                                               const inference::ModelReadyRequest* request,
                                               inference::ModelReadyResponse* response) {
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return Finish(context, model.status());
  response->set_ready(!admission_.closed());
  return Finish(context);
}

ServerUnaryReactor* ControlService::ServerMetadata(CallbackServerContext* context,
                                                   const inference::ServerMetadataRequest*,
                                                   inference::ServerMetadataResponse* response) {
  response->set_name(options_.server_id);
  response->set_version(std::string(kVersion));
  for (const char* extension : kExtensions) response->add_extensions(extension);
  return Finish(context);
}

ServerUnaryReactor* ControlService::ModelMetadata(CallbackServerContext* context,
                                                  const inference::ModelMetadataRequest* request,
                                                  inference::ModelMetadataResponse* response) {
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return Finish(context, model.status());
  FillMetadata((*model)->config(), repository_.ReadyVersions(request->name()), response);
  return Finish(context);
}

ServerUnaryReactor* ControlService::ModelConfig(CallbackServerContext* context,
                                                const inference::ModelConfigRequest* request,
                                                inference::ModelConfigResponse* response) {
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return Finish(context, model.status());
  response->mutable_config()->ParseFromString((*model)->config().serialized);
  return Finish(context);
}

ServerUnaryReactor* ControlService::ModelStatistics(CallbackServerContext* context,
                                                    const inference::ModelStatisticsRequest* request,
                                                    inference::ModelStatisticsResponse* response) {
  if (request->name().empty()) {
    for (const ModelHandle& model : repository_.ReadyModels()) FillStatistics(*model, response->add_model_stats());
    return Finish(context);
  }
  if (request->version().empty()) {
    // Every version that is ready; the look-up is for its error.
    const Result<ModelHandle> any = repository_.Find(request->name(), "");
    if (!any.ok()) return Finish(context, AsStatisticsError(any.status()));
    for (const ModelHandle& model : repository_.ReadyModels()) {
      if (model->config().name == request->name()) FillStatistics(*model, response->add_model_stats());
    }
    return Finish(context);
  }
  const Result<ModelHandle> model = repository_.Find(request->name(), request->version());
  if (!model.ok()) return Finish(context, AsStatisticsError(model.status()));
  FillStatistics(**model, response->add_model_stats());
  return Finish(context);
}

ServerUnaryReactor* ControlService::RepositoryIndex(CallbackServerContext* context,
                                                    const inference::RepositoryIndexRequest* request,
                                                    inference::RepositoryIndexResponse* response) {
  if (!request->repository_name().empty()) {
    return Finish(context, UnimplementedError("'repository_name' specification is not supported"));
  }
  FillIndex(repository_.Index(request->ready()), response);
  return Finish(context);
}

ServerUnaryReactor* ControlService::RepositoryModelLoad(CallbackServerContext* context,
                                                        const inference::RepositoryModelLoadRequest*,
                                                        inference::RepositoryModelLoadResponse*) {
  return NoModelControl(context);
}

ServerUnaryReactor* ControlService::RepositoryModelUnload(CallbackServerContext* context,
                                                          const inference::RepositoryModelUnloadRequest*,
                                                          inference::RepositoryModelUnloadResponse*) {
  return NoModelControl(context);
}

ServerUnaryReactor* ControlService::SystemSharedMemoryStatus(CallbackServerContext* context,
                                                             const inference::SystemSharedMemoryStatusRequest*,
                                                             inference::SystemSharedMemoryStatusResponse*) {
  return NoSharedMemory(context);
}

ServerUnaryReactor* ControlService::SystemSharedMemoryRegister(CallbackServerContext* context,
                                                               const inference::SystemSharedMemoryRegisterRequest*,
                                                               inference::SystemSharedMemoryRegisterResponse*) {
  return NoSharedMemory(context);
}

ServerUnaryReactor* ControlService::SystemSharedMemoryUnregister(CallbackServerContext* context,
                                                                 const inference::SystemSharedMemoryUnregisterRequest*,
                                                                 inference::SystemSharedMemoryUnregisterResponse*) {
  return NoSharedMemory(context);
}

ServerUnaryReactor* ControlService::CudaSharedMemoryStatus(CallbackServerContext* context,
                                                           const inference::CudaSharedMemoryStatusRequest*,
                                                           inference::CudaSharedMemoryStatusResponse*) {
  return NoSharedMemory(context);
}

ServerUnaryReactor* ControlService::CudaSharedMemoryRegister(CallbackServerContext* context,
                                                             const inference::CudaSharedMemoryRegisterRequest*,
                                                             inference::CudaSharedMemoryRegisterResponse*) {
  return NoSharedMemory(context);
}

ServerUnaryReactor* ControlService::CudaSharedMemoryUnregister(CallbackServerContext* context,
                                                               const inference::CudaSharedMemoryUnregisterRequest*,
                                                               inference::CudaSharedMemoryUnregisterResponse*) {
  return NoSharedMemory(context);
}

ServerUnaryReactor* ControlService::TraceSetting(CallbackServerContext* context, const inference::TraceSettingRequest*,
                                                 inference::TraceSettingResponse*) {
  return Finish(context, UnimplementedError("tracing is not supported by this server"));
}

ServerUnaryReactor* ControlService::LogSettings(CallbackServerContext* context, const inference::LogSettingsRequest*,
                                                inference::LogSettingsResponse*) {
  return Finish(context, UnimplementedError("log settings are given by flags and cannot be changed over the network"));
}

}  // namespace ferry
