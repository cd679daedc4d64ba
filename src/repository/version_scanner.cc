#include "repository/version_scanner.h"

#include <algorithm>
#include <filesystem>

#include "base/strings.h"

namespace ferry {

namespace {

constexpr std::string_view kOtherFolders[] = {"configs", "warmup", "initial_state"};

bool IsOtherFolder(std::string_view name) {
  return name.starts_with('.') || std::ranges::find(kOtherFolders, name) != std::end(kOtherFolders);
}

struct Chooser {
  const std::vector<int64_t>& available;

  std::vector<int64_t> operator()(const LatestVersions& latest) const {
    const size_t count = std::min<size_t>(latest.count, available.size());
    return {available.end() - static_cast<ptrdiff_t>(count), available.end()};
  }
  std::vector<int64_t> operator()(const AllVersions&) const { return available; }
  std::vector<int64_t> operator()(const SpecificVersions& specific) const {
    std::vector<int64_t> chosen;
    std::ranges::copy_if(available, std::back_inserter(chosen), [&](int64_t version) {
      return std::ranges::find(specific.versions, version) != specific.versions.end();
    });
    return chosen;
  }
};

}  // namespace

bool IsModelName(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<ScannedVersions> ScanVersions(const std::string& model_directory) {
  ScannedVersions scanned;
  std::error_code error;
  std::filesystem::directory_iterator entries(model_directory, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;
    const bool folder = entries->is_directory(ignored);
    const std::optional<int64_t> version = ParseNumber<int64_t>(name);
    if (folder && version && *version > 0) {
      scanned.versions.push_back(*version);
    } else if (folder ? !IsOtherFolder(name) : version.has_value()) {
      scanned.warnings.push_back(StrCat(model_directory, "/", name,
                                        " is ignored: a version is a folder whose name is a ",
                                        "positive number without leading zeros"));
    }
  }
  if (error) return UnavailableError(StrCat("cannot read ", model_directory, ": ", error.message()));
  std::ranges::sort(scanned.versions);
  return scanned;
}

std::vector<int64_t> ChooseVersions(const VersionPolicy& policy, const std::vector<int64_t>& available) {
  return std::visit(Chooser{available}, policy);
}

}  // namespace ferry
