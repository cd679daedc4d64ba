#ifndef FERRY_REPOSITORY_INSTANCE_PLACEMENT_H_
#define FERRY_REPOSITORY_INSTANCE_PLACEMENT_H_

#include <vector>

#include "ferry/placement.h"
#include "ferry/status.h"

namespace inference {
class ModelConfig;
}

namespace ferry {

// Where the instances of a model run on a machine with `gpus` GPUs, by Triton's rules (its model_configuration.md,
// "Instance Groups"): KIND_AUTO is KIND_GPU where there are GPUs, all of those listed in `gpus` included, and else
// KIND_CPU; a group on GPUs has `count` instances on each GPU listed, or on each that there is; KIND_MODEL is left to the
// model, whose place is the host here. Without a group there is one of KIND_AUTO.
//   INVALID_ARGUMENT  a GPU that there is not, GPUs listed for the host, a negative count, or too many instances
Result<std::vector<Placement>> PlaceInstances(const inference::ModelConfig& config, int gpus);

// Writes what PlaceInstances() made of the groups into them: kinds, GPUs, counts and names.
// REQUIRES: PlaceInstances() is OK.
void ResolveInstanceGroups(int gpus, inference::ModelConfig* config);

}  // namespace ferry

#endif  // FERRY_REPOSITORY_INSTANCE_PLACEMENT_H_
