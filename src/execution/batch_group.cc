#include "execution/batch_group.h"

#include <algorithm>

#include "execution/padding.h"

namespace ferry {

std::vector<int64_t> GroupOf(const ModelConfig& config, const InferRequest& request) {
  std::vector<int64_t> group;
  if (!config.batches()) return group;
  for (size_t i = 0; i < config.inputs.size(); ++i) {
    const bool given = request.inputs[i].type != DataType::kInvalid;
    if (config.inputs[i].optional) group.push_back(given ? 1 : 0);
    if (!given || config.inputs[i].ragged) continue;
    const Shape& dims = config.inputs[i].dims;
    if (std::ranges::find(dims, -1) == dims.end()) continue;
    const Shape shape = PaddedShape(config, i, request.inputs[i].shape);
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim] == -1) group.push_back(shape[dim + 1]);
    }
  }
  return group;
}

}  // namespace ferry
