#ifndef FERRY_FRONTEND_GRPC_CONTROL_SERVICE_H_
#define FERRY_FRONTEND_GRPC_CONTROL_SERVICE_H_

#include <string>

#include "ferry/model_repository.h"
#include "frontend/admission.h"
#include "grpc_service.grpc.pb.h"

namespace ferry {

namespace internal {
using Methods = inference::GRPCInferenceService;
// The infer methods are left to the generic service, see InferCall and InferStream.
using ControlMethods =
    Methods::WithGenericMethod_ModelInfer<Methods::WithGenericMethod_ModelStreamInfer<Methods::Service>>;
}  // namespace internal

// ControlService answers every method of inference.GRPCInferenceService but the infer methods, with the synchronous API, whose
// threads leave the polling of connections to the queues of the infer calls; those of the callback API would not.
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

  grpc::Status ServerLive(grpc::ServerContext* context, const inference::ServerLiveRequest* request,
                          inference::ServerLiveResponse* response) override;
  grpc::Status ServerReady(grpc::ServerContext* context, const inference::ServerReadyRequest* request,
                           inference::ServerReadyResponse* response) override;
  grpc::Status ModelReady(grpc::ServerContext* context, const inference::ModelReadyRequest* request,
                          inference::ModelReadyResponse* response) override;
  grpc::Status ServerMetadata(grpc::ServerContext* context, const inference::ServerMetadataRequest* request,
                              inference::ServerMetadataResponse* response) override;
  grpc::Status ModelMetadata(grpc::ServerContext* context, const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* response) override;
  grpc::Status ModelConfig(grpc::ServerContext* context, const inference::ModelConfigRequest* request,
                           inference::ModelConfigResponse* response) override;
  grpc::Status ModelStatistics(grpc::ServerContext* context, const inference::ModelStatisticsRequest* request,
                               inference::ModelStatisticsResponse* response) override;
  grpc::Status RepositoryIndex(grpc::ServerContext* context, const inference::RepositoryIndexRequest* request,
                               inference::RepositoryIndexResponse* response) override;
  grpc::Status RepositoryModelLoad(grpc::ServerContext* context, const inference::RepositoryModelLoadRequest* request,
                                   inference::RepositoryModelLoadResponse* response) override;
  grpc::Status RepositoryModelUnload(grpc::ServerContext* context,
                                     const inference::RepositoryModelUnloadRequest* request,
                                     inference::RepositoryModelUnloadResponse* response) override;
  grpc::Status SystemSharedMemoryStatus(grpc::ServerContext* context,
                                        const inference::SystemSharedMemoryStatusRequest* request,
                                        inference::SystemSharedMemoryStatusResponse* response) override;
  grpc::Status SystemSharedMemoryRegister(grpc::ServerContext* context,
                                          const inference::SystemSharedMemoryRegisterRequest* request,
                                          inference::SystemSharedMemoryRegisterResponse* response) override;
  grpc::Status SystemSharedMemoryUnregister(grpc::ServerContext* context,
                                            const inference::SystemSharedMemoryUnregisterRequest* request,
                                            inference::SystemSharedMemoryUnregisterResponse* response) override;
  grpc::Status CudaSharedMemoryStatus(grpc::ServerContext* context,
                                      const inference::CudaSharedMemoryStatusRequest* request,
                                      inference::CudaSharedMemoryStatusResponse* response) override;
  grpc::Status CudaSharedMemoryRegister(grpc::ServerContext* context,
                                        const inference::CudaSharedMemoryRegisterRequest* request,
                                        inference::CudaSharedMemoryRegisterResponse* response) override;
  grpc::Status CudaSharedMemoryUnregister(grpc::ServerContext* context,
                                          const inference::CudaSharedMemoryUnregisterRequest* request,
                                          inference::CudaSharedMemoryUnregisterResponse* response) override;
  grpc::Status TraceSetting(grpc::ServerContext* context, const inference::TraceSettingRequest* request,
                            inference::TraceSettingResponse* response) override;
  grpc::Status LogSettings(grpc::ServerContext* context, const inference::LogSettingsRequest* request,
                           inference::LogSettingsResponse* response) override;

 private:
  const Options options_;
  const ModelRepository& repository_;
  const Admission& admission_;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_CONTROL_SERVICE_H_
