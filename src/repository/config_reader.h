#ifndef FERRY_REPOSITORY_CONFIG_READER_H_
#define FERRY_REPOSITORY_CONFIG_READER_H_

#include <string>
#include <string_view>
#include <vector>

#include "ferry/model_config.h"

namespace ferry {

// A configuration that is valid, and what the file says that Ferry does not act on.
struct ReadConfig {
  ModelConfig config;
  std::vector<std::string> warnings;
};

// Reads <directory>/config.pbtxt for the model that the folder is named after, on a machine with `gpus` GPUs. Each error names the file and the line,
// or the file, the field, its value and what is allowed.
//   NOT_FOUND         there is no such file
//   INVALID_ARGUMENT  it is not a valid configuration, or asks for what Ferry does not offer
Result<ReadConfig> ReadModelConfig(const std::string& directory, const std::string& model, int gpus);

// The same for a text at hand; `path` is for messages.
Result<ReadConfig> ParseModelConfig(std::string_view text, const std::string& path, const std::string& directory,
                                    const std::string& model, int gpus);

}  // namespace ferry

#endif  // FERRY_REPOSITORY_CONFIG_READER_H_
