#include "loadgen/inference_server.h"

#include <algorithm>

#include "base/strings.h"

namespace ferry {

namespace {

constexpr std::chrono::seconds kPatience(10);

Status FromGrpc(const char* method, const grpc::Status& status) {
  if (status.ok()) return Status();
  return Status(static_cast<StatusCode>(status.error_code()), StrCat(method, ": ", status.error_message()));
}

template <typename Request>
Request ForModel(const std::string& model, const std::string& version) {
  Request request;
  request.set_name(model);
  request.set_version(version);
  return request;
}

}  // namespace

InferenceServer::InferenceServer(const ConnectionOptions& options)
    : options_(options), stub_(inference::GRPCInferenceService::NewStub(OpenChannel(options))) {}

void InferenceServer::Prepare(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  for (const auto& [key, value] : options_.metadata) context.AddMetadata(key, value);
}

Status InferenceServer::CheckReady(const std::string& model, const std::string& version) const {
  grpc::ClientContext context;
  Prepare(context);
  inference::ModelReadyResponse response;
  const auto request = ForModel<inference::ModelReadyRequest>(model, version);
  FERRY_RETURN_IF_ERROR(FromGrpc("ModelReady", stub_->ModelReady(&context, request, &response)));
  if (response.ready()) return Status();
  return UnavailableError(StrCat("model '", model, "'", version.empty() ? "" : StrCat(" version ", version),
                                 " is not ready on ", options_.target));
}

std::string InferenceServer::NameAndVersion() const {
  grpc::ClientContext context;
  Prepare(context);
  inference::ServerMetadataResponse response;
  if (!stub_->ServerMetadata(&context, {}, &response).ok()) return "";
  return StrCat(response.name(), " ", response.version());
}

Result<inference::ModelMetadataResponse> InferenceServer::Metadata(const std::string& model,
                                                                   const std::string& version) const {
  grpc::ClientContext context;
  Prepare(context);
  inference::ModelMetadataResponse response;
  const auto request = ForModel<inference::ModelMetadataRequest>(model, version);
  FERRY_RETURN_IF_ERROR(FromGrpc("ModelMetadata", stub_->ModelMetadata(&context, request, &response)));
  return response;
}

Result<std::optional<inference::ModelConfig>> InferenceServer::Config(const std::string& model,
                                                                      const std::string& version) const {
  grpc::ClientContext context;
  Prepare(context);
  inference::ModelConfigResponse response;
  const auto request = ForModel<inference::ModelConfigRequest>(model, version);
  const grpc::Status status = stub_->ModelConfig(&context, request, &response);
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return std::optional<inference::ModelConfig>();
  FERRY_RETURN_IF_ERROR(FromGrpc("ModelConfig", status));
  return std::optional<inference::ModelConfig>(response.config());
}

std::optional<inference::ModelStatistics> InferenceServer::Statistics(const std::string& model,
                                                                      const std::string& version) const {
  grpc::ClientContext context;
  Prepare(context);
  inference::ModelStatisticsResponse response;
  const auto request = ForModel<inference::ModelStatisticsRequest>(model, version);
  if (!stub_->ModelStatistics(&context, request, &response).ok() || response.model_stats().empty()) return std::nullopt;
  // Without a version the server may tell of several; the highest is the one that serves.
  const auto number = [](const auto& each) { return ParseNumber<int64_t>(each.version()).value_or(0); };
  return *std::ranges::max_element(response.model_stats(), {}, number);
}

}  // namespace ferry
