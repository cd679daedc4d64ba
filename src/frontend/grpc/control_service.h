#ifndef FERRY_FRONTEND_GRPC_CONTROL_SERVICE_H_
#define FERRY_FRONTEND_GRPC_CONTROL_SERVICE_H_

#include <string>

#include "ferry/model_repository.h"
#include "frontend/admission.h"
#include "grpc_service.grpc.pb.h"

namespace ferry {

namespace internal {
using Methods = inference::GRPCInferenceService;
template <class Base>
using HealthMethods = Methods::WithCallbackMethod_ServerLive<
    Methods::WithCallbackMethod_ServerReady<Methods::WithCallbackMethod_ModelReady<Base>>>;
template <class Base>
using MetadataMethods = Methods::WithCallbackMethod_ServerMetadata<Methods::WithCallbackMethod_ModelMetadata<
    Methods::WithCallbackMethod_ModelConfig<Methods::WithCallbackMethod_ModelStatistics<Base>>>>;
template <class Base>
using RepositoryMethods = Methods::WithCallbackMethod_RepositoryIndex<
    Methods::WithCallbackMethod_RepositoryModelLoad<Methods::WithCallbackMethod_RepositoryModelUnload<Base>>>;
template <class Base>
using SystemMemoryMethods =
    Methods::WithCallbackMethod_SystemSharedMemoryStatus<Methods::WithCallbackMethod_SystemSharedMemoryRegister<
        Methods::WithCallbackMethod_SystemSharedMemoryUnregister<Base>>>;
template <class Base>
using CudaMemoryMethods = Methods::WithCallbackMethod_CudaSharedMemoryStatus<
    Methods::WithCallbackMethod_CudaSharedMemoryRegister<Methods::WithCallbackMethod_CudaSharedMemoryUnregister<Base>>>;
template <class Base>
using SettingMethods = Methods::WithCallbackMethod_TraceSetting<Methods::WithCallbackMethod_LogSettings<Base>>;
template <class Base>
using GenericMethods = Methods::WithGenericMethod_ModelInfer<Methods::WithGenericMethod_ModelStreamInfer<Base>>;
// The infer methods are left to the generic service, see InferCall and InferStream.
using ControlMethods = HealthMethods<MetadataMethods<
    RepositoryMethods<SystemMemoryMethods<CudaMemoryMethods<SettingMethods<GenericMethods<Methods::Service>>>>>>>;
}  // namespace internal

// ControlService answers every method of inference.GRPCInferenceService but the infer methods, on gRPC's own callback threads.
// Errors are those of Triton.
//
// Threading: thread-safe; no method blocks.
class ControlService final : public internal::ControlMethods {
 public:
  struct Options {
    std::string server_id = "ferry";
    bool strict_readiness = true;  // ready only when every model is
  };

  ControlService(Options options, const ModelRepository& repository, const Admission& admission);

  // Whether the server as a whole is ready.
  bool Ready() const;

  grpc::ServerUnaryReactor* ServerLive(grpc::CallbackServerContext* context,
                                       const inference::ServerLiveRequest* request,
                                       inference::ServerLiveResponse* response) override;
  grpc::ServerUnaryReactor* ServerReady(grpc::CallbackServerContext* context,
                                        const inference::ServerReadyRequest* request,
                                        inference::ServerReadyResponse* response) override;
  grpc::ServerUnaryReactor* ModelReady(grpc::CallbackServerContext* context,
                                       const inference::ModelReadyRequest* request,
                                       inference::ModelReadyResponse* response) override;
  grpc::ServerUnaryReactor* ServerMetadata(grpc::CallbackServerContext* context,
                                           const inference::ServerMetadataRequest* request,
                                           inference::ServerMetadataResponse* response) override;
  grpc::ServerUnaryReactor* ModelMetadata(grpc::CallbackServerContext* context,
                                          const inference::ModelMetadataRequest* request,
                                          inference::ModelMetadataResponse* response) override;
  grpc::ServerUnaryReactor* ModelConfig(grpc::CallbackServerContext* context,
                                        const inference::ModelConfigRequest* request,
                                        inference::ModelConfigResponse* response) override;
  grpc::ServerUnaryReactor* ModelStatistics(grpc::CallbackServerContext* context,
                                            const inference::ModelStatisticsRequest* request,
                                            inference::ModelStatisticsResponse* response) override;
  grpc::ServerUnaryReactor* RepositoryIndex(grpc::CallbackServerContext* context,
                                            const inference::RepositoryIndexRequest* request,
                                            inference::RepositoryIndexResponse* response) override;
  grpc::ServerUnaryReactor* RepositoryModelLoad(grpc::CallbackServerContext* context,
                                                const inference::RepositoryModelLoadRequest* request,
                                                inference::RepositoryModelLoadResponse* response) override;
  grpc::ServerUnaryReactor* RepositoryModelUnload(grpc::CallbackServerContext* context,
                                                  const inference::RepositoryModelUnloadRequest* request,
                                                  inference::RepositoryModelUnloadResponse* response) override;
  grpc::ServerUnaryReactor* SystemSharedMemoryStatus(grpc::CallbackServerContext* context,
                                                     const inference::SystemSharedMemoryStatusRequest* request,
                                                     inference::SystemSharedMemoryStatusResponse* response) override;
  grpc::ServerUnaryReactor* SystemSharedMemoryRegister(
      grpc::CallbackServerContext* context, const inference::SystemSharedMemoryRegisterRequest* request,
      inference::SystemSharedMemoryRegisterResponse* response) override;
  grpc::ServerUnaryReactor* SystemSharedMemoryUnregister(
      grpc::CallbackServerContext* context, const inference::SystemSharedMemoryUnregisterRequest* request,
      inference::SystemSharedMemoryUnregisterResponse* response) override;
  grpc::ServerUnaryReactor* CudaSharedMemoryStatus(grpc::CallbackServerContext* context,
                                                   const inference::CudaSharedMemoryStatusRequest* request,
                                                   inference::CudaSharedMemoryStatusResponse* response) override;
  grpc::ServerUnaryReactor* CudaSharedMemoryRegister(grpc::CallbackServerContext* context,
                                                     const inference::CudaSharedMemoryRegisterRequest* request,
                                                     inference::CudaSharedMemoryRegisterResponse* response) override;
  grpc::ServerUnaryReactor* CudaSharedMemoryUnregister(
      grpc::CallbackServerContext* context, const inference::CudaSharedMemoryUnregisterRequest* request,
      inference::CudaSharedMemoryUnregisterResponse* response) override;
  grpc::ServerUnaryReactor* TraceSetting(grpc::CallbackServerContext* context,
                                         const inference::TraceSettingRequest* request,
                                         inference::TraceSettingResponse* response) override;
  grpc::ServerUnaryReactor* LogSettings(grpc::CallbackServerContext* context,
                                        const inference::LogSettingsRequest* request,
                                        inference::LogSettingsResponse* response) override;

 private:
  const Options options_;
  const ModelRepository& repository_;
  const Admission& admission_;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_CONTROL_SERVICE_H_
