#ifndef FERRY_REPOSITORY_VERSION_SCANNER_H_
#define FERRY_REPOSITORY_VERSION_SCANNER_H_

#include <string>
#include <vector>

#include "ferry/model_config.h"

namespace ferry {

// Whether `name` may name a model: 1 to 255 of [A-Za-z0-9_.-], not starting with a dot. Such a name never leaves its
// folder and needs no escaping anywhere.
bool IsModelName(std::string_view name);

// A model's version folders as found on disk.
struct ScannedVersions {
  std::vector<int64_t> versions;      // ascending
  std::vector<std::string> warnings;  // entries that look like a version but are none
};

// Looks through the model's folder. A version is a folder whose name is a positive decimal number without leading
// zeros; `configs`, `warmup` and `initial_state` have other uses.
//   UNAVAILABLE  the folder cannot be read
Result<ScannedVersions> ScanVersions(const std::string& model_directory);

// The versions of `available` (ascending) that the policy serves, ascending. A specific version that is not available
// is left out.
std::vector<int64_t> ChooseVersions(const VersionPolicy& policy, const std::vector<int64_t>& available);

}  // namespace ferry

#endif  // FERRY_REPOSITORY_VERSION_SCANNER_H_
