#ifndef FERRY_LOADGEN_INFERENCE_SERVER_H_
#define FERRY_LOADGEN_INFERENCE_SERVER_H_

#include <memory>
#include <optional>
#include <string>

#include "grpc_service.grpc.pb.h"
#include "loadgen/infer_caller.h"

namespace ferry {

// InferenceServer asks a server of the V2 protocol about itself and its models.
//
// Threading: thread-safe. Each call blocks for a few seconds at most.
// Errors:    what the server answered, or UNAVAILABLE, with the method's name in front.
class InferenceServer {
 public:
  explicit InferenceServer(const ConnectionOptions& options);

  //   UNAVAILABLE  the server or the model is not ready, or not there
  Status CheckReady(const std::string& model, const std::string& version) const;
  // "name version", or nothing where the server does not say.
  std::string NameAndVersion() const;
  Result<inference::ModelMetadataResponse> Metadata(const std::string& model, const std::string& version) const;
  // Nothing from a server that has no such methods, as MLServer.
  Result<std::optional<inference::ModelConfig>> Config(const std::string& model, const std::string& version) const;
  std::optional<inference::ModelStatistics> Statistics(const std::string& model, const std::string& version) const;

 private:
  void Prepare(grpc::ClientContext& context) const;

  const ConnectionOptions options_;
  const std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_INFERENCE_SERVER_H_
