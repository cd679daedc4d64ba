#include "repository/instance_placement.h"

#include <google/protobuf/text_format.h>

#include "base/strings.h"
#include "model_config.pb.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

inference::ModelConfig Groups(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(StrCat("name: \"m\" ", text), &config));
  return config;
}

std::vector<Placement> Place(const std::string& text, int gpus) { return PlaceInstances(Groups(text), gpus).value(); }

std::string Refusal(const std::string& text, int gpus) {
  const Result<std::vector<Placement>> placed = PlaceInstances(Groups(text), gpus);
  EXPECT_EQ(placed.status().code(), StatusCode::kInvalidArgument);
  return std::string(placed.status().message());
}

TEST(InstancePlacementTest, WithoutAGroupThereIsOneInstanceOnEachGpuOrOneOnTheHost) {
  EXPECT_THAT(Place("", 0), ElementsAre(kOnHost));
  EXPECT_THAT(Place("", 1), ElementsAre(0));
  EXPECT_THAT(Place("", 3), ElementsAre(0, 1, 2));
}

TEST(InstancePlacementTest, TheCountIsOfEachGpu) {
  EXPECT_THAT(Place("instance_group { count: 2 kind: KIND_GPU }", 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Place("instance_group { count: 2 kind: KIND_GPU gpus: 1 }", 2), ElementsAre(1, 1));
  EXPECT_THAT(Place("instance_group { count: 2 kind: KIND_CPU }", 2), ElementsAre(kOnHost, kOnHost));
}

TEST(InstancePlacementTest, AutoGoesToTheHostWhereAListedGpuIsMissing) {
  EXPECT_THAT(Place("instance_group { gpus: [ 0, 1 ] }", 2), ElementsAre(0, 1));
  EXPECT_THAT(Place("instance_group { gpus: [ 0, 2 ] }", 2), ElementsAre(kOnHost));
  EXPECT_THAT(Place("instance_group { gpus: [ 0 ] }", 0), ElementsAre(kOnHost));
}

TEST(InstancePlacementTest, AModelsOwnPlaceIsTheHost) {
  EXPECT_THAT(Place("instance_group { kind: KIND_MODEL }", 2), ElementsAre(kOnHost));
}

TEST(InstancePlacementTest, GroupsAddUpAndPassiveOnesDoNotCount) {
  EXPECT_THAT(Place("instance_group { kind: KIND_GPU gpus: 0 } instance_group { count: 2 kind: KIND_CPU } "
                    "instance_group { count: 9 passive: true }",
                    1),
              ElementsAre(0, kOnHost, kOnHost));
}

TEST(InstancePlacementTest, RefusesWhatCannotBeHad) {
  EXPECT_THAT(Refusal("instance_group { kind: KIND_GPU }", 0),
              HasSubstr("instance_group[0].kind: KIND_GPU: there is no GPU"));
  EXPECT_THAT(Refusal("instance_group { } instance_group { kind: KIND_GPU gpus: [ 1, 2 ] }", 2),
              AllOf(HasSubstr("instance_group[1].gpus: there is no GPU 2"), HasSubstr("0 to 1")));
  EXPECT_THAT(Refusal("instance_group { kind: KIND_GPU gpus: -1 }", 2), HasSubstr("there is no GPU -1"));
  EXPECT_THAT(Refusal("instance_group { kind: KIND_CPU gpus: 0 }", 1), HasSubstr("not allowed with KIND_CPU"));
  EXPECT_THAT(Refusal("instance_group { count: -3 }", 1), HasSubstr("count: -3"));
  EXPECT_THAT(Refusal("instance_group { count: 600 kind: KIND_GPU }", 2), HasSubstr("1200 instances"));
  EXPECT_THAT(Refusal("instance_group { count: 2147483647 } instance_group { count: 2147483647 }", 0),
              HasSubstr("4294967294 instances"));
  EXPECT_THAT(Refusal("instance_group { passive: true }", 0), HasSubstr("0 instances"));
}

TEST(InstancePlacementTest, TheConfigurationShowsWhatBecameOfAGroup) {
  inference::ModelConfig config =
      Groups("instance_group { gpus: 0 } instance_group { name: \"own\" count: 2 gpus: 5 }");
  ResolveInstanceGroups(1, &config);
  EXPECT_EQ(config.instance_group(0).name(), "m_0");
  EXPECT_EQ(config.instance_group(0).count(), 1);
  EXPECT_EQ(config.instance_group(0).kind(), inference::ModelInstanceGroup::KIND_GPU);
  EXPECT_THAT(config.instance_group(0).gpus(), ElementsAre(0));
  EXPECT_EQ(config.instance_group(1).name(), "own");
  EXPECT_EQ(config.instance_group(1).kind(), inference::ModelInstanceGroup::KIND_CPU);
  EXPECT_EQ(config.instance_group(1).gpus_size(), 0);
}

}  // namespace
}  // namespace ferry
