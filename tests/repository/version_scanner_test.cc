#include "repository/version_scanner.h"

#include <filesystem>
#include <fstream>

#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ModelNameTest, AllowsLettersDigitsAndThreeSigns) {
  EXPECT_TRUE(IsModelName("Mini-LM_v2.1"));
  for (const char* name : {"", ".", "..", ".git", "a/b", "a b", "a\n", "ä"}) EXPECT_FALSE(IsModelName(name)) << name;
  EXPECT_FALSE(IsModelName(std::string(256, 'a')));
}

// B083: folders that lie beside the versions are neither served nor fatal.
TEST(ScanVersionsTest, ServesOnlyFoldersWithVersionNames) {
  const std::string folder = ::testing::TempDir() + "/scan_versions_test";
  std::filesystem::remove_all(folder);
  for (const char* name :
       {"1", "12", "01", "0", "model", ".hidden", "2_old", "99999999999999999999", "configs", "warmup"}) {
    std::filesystem::create_directories(folder + "/" + name);
  }
  std::ofstream(folder + "/3") << "a file";
  std::ofstream(folder + "/config.pbtxt") << "";
  const Result<ScannedVersions> scanned = ScanVersions(folder);
  ASSERT_THAT(scanned, IsOk());
  EXPECT_THAT(scanned->versions, ElementsAre(1, 12));
  EXPECT_EQ(scanned->warnings.size(), 6u);  // 01 0 model 2_old 999... and the file 3
}

TEST(ScanVersionsTest, AMissingFolderIsAnError) {
  EXPECT_THAT(ScanVersions("/no/such/folder"), HasStatus(StatusCode::kUnavailable, HasSubstr("/no/such/folder")));
}

TEST(ChooseVersionsTest, FollowsThePolicy) {
  const std::vector<int64_t> available = {1, 2, 5};
  EXPECT_THAT(ChooseVersions(LatestVersions{1}, available), ElementsAre(5));
  EXPECT_THAT(ChooseVersions(LatestVersions{2}, available), ElementsAre(2, 5));
  EXPECT_THAT(ChooseVersions(LatestVersions{9}, available), ElementsAre(1, 2, 5));
  EXPECT_THAT(ChooseVersions(AllVersions{}, available), ElementsAre(1, 2, 5));
  EXPECT_THAT(ChooseVersions(SpecificVersions{{5, 7, 1}}, available), ElementsAre(1, 5));
  EXPECT_THAT(ChooseVersions(SpecificVersions{{7}}, available), IsEmpty());
}

}  // namespace
}  // namespace ferry
