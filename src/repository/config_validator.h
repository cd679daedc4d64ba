#ifndef FERRY_REPOSITORY_CONFIG_VALIDATOR_H_
#define FERRY_REPOSITORY_CONFIG_VALIDATOR_H_

#include "ferry/model_config.h"

namespace ferry {

// Checks a translated configuration by the rules of Triton's (shared by every model framework): sizes, names, types,
// extents, reshapes, preferred sizes, warm-up samples.
//   INVALID_ARGUMENT  names the field, its value and what is allowed
Status ValidateConfig(const ModelConfig& config);

}  // namespace ferry

#endif  // FERRY_REPOSITORY_CONFIG_VALIDATOR_H_
