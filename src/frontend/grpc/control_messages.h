#ifndef FERRY_FRONTEND_GRPC_CONTROL_MESSAGES_H_
#define FERRY_FRONTEND_GRPC_CONTROL_MESSAGES_H_

#include "ferry/model_repository.h"
#include "grpc_service.pb.h"

namespace ferry {

// What the control methods answer, from the terms of the core to messages.

void FillMetadata(const ModelConfig& config, const std::vector<int64_t>& versions,
                  inference::ModelMetadataResponse* response);
void FillStatistics(const ModelVersion& model, inference::ModelStatistics* statistics);
void FillIndex(const std::vector<IndexEntry>& index, inference::RepositoryIndexResponse* response);

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_CONTROL_MESSAGES_H_
