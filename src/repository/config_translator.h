#ifndef FERRY_REPOSITORY_CONFIG_TRANSLATOR_H_
#define FERRY_REPOSITORY_CONFIG_TRANSLATOR_H_

#include <string>
#include <vector>

#include "ferry/model_config.h"

namespace inference {
class ModelConfig;
}

namespace ferry {

// From the message that config.pbtxt holds to plain data, with Triton's defaults filled in. Refuses what would change
// the meaning of the model if it were ignored (ensembles, sequences, decoupled models) and what cannot be had (another
// platform, a GPU beyond the machine's `gpus`).
//   INVALID_ARGUMENT  names the field, its value and what is allowed
Result<ModelConfig> TranslateConfig(const inference::ModelConfig& proto, const std::string& directory,
                                    const std::string& model, int gpus);

// Fields that are set and that Ferry does not act on, as paths: "optimization.graph".
std::vector<std::string> FieldsWithoutEffect(const inference::ModelConfig& proto);

}  // namespace ferry

#endif  // FERRY_REPOSITORY_CONFIG_TRANSLATOR_H_
