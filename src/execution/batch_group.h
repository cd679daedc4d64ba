#ifndef FERRY_EXECUTION_BATCH_GROUP_H_
#define FERRY_EXECUTION_BATCH_GROUP_H_

#include <vector>

#include "ferry/model_config.h"
#include "ferry/request.h"

namespace ferry {

// What must be equal among requests that share a batch: which optional inputs they have, and the variable extents of their
// inputs, as they are after padding; those of ragged inputs may differ. What the configuration fixes is equal anyway.
std::vector<int64_t> GroupOf(const ModelConfig& config, const InferRequest& request);

}  // namespace ferry

#endif  // FERRY_EXECUTION_BATCH_GROUP_H_
