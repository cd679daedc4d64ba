#ifndef FERRY_REPOSITORY_FERRY_PARAMETERS_H_
#define FERRY_REPOSITORY_FERRY_PARAMETERS_H_

#include "ferry/model_config.h"

namespace ferry {

// What Ferry has beyond Triton's ModelConfig stands in its `parameters`, under names that begin with "ferry.", so that
// other servers and tools still read the file. docs/parameters.md describes them.

// `config` with what its parameters of that kind say.
// REQUIRES: the tensors, the batching and the instances of `config` are filled in.
//   INVALID_ARGUMENT  an unknown name, with those that are known; a value that is not allowed, with those that are
Result<ModelConfig> WithFerryParameters(ModelConfig config);

}  // namespace ferry

#endif  // FERRY_REPOSITORY_FERRY_PARAMETERS_H_
