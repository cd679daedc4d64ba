#ifndef FERRY_LOADGEN_PREPARED_MIX_H_
#define FERRY_LOADGEN_PREPARED_MIX_H_

#include <string>
#include <vector>

#include "loadgen/mix_description.h"
#include "loadgen/model_description.h"
#include "loadgen/named_tensor.h"
#include "loadgen/request_mix.h"

namespace ferry {

class InferenceServer;

// A model that a run calls.
struct CalledModel {
  std::string name;
  std::string version;  // as asked for
  ModelDescription description;
  std::string config;  // text; empty where the server does not tell
};

// PreparedMix is what a run sends, made for the models as the server describes them.
struct PreparedMix {
  RequestMix mix;
  std::vector<std::vector<NamedTensor>> expected;  // outputs of each request that the data tells; may be empty
  std::vector<CalledModel> models;                 // each once; that of the first class first
};

//   UNAVAILABLE       a model is not there or not ready
//   INVALID_ARGUMENT  a class and its model do not go together
Result<PreparedMix> PrepareMix(const std::vector<ClassDescription>& classes, const InferenceServer& server);

}  // namespace ferry

#endif  // FERRY_LOADGEN_PREPARED_MIX_H_
