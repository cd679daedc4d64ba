#include "loadgen/mix_description.h"

#include <gmock/gmock.h>

namespace ferry {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ClassDescription Defaults() {
  ClassDescription defaults;
  defaults.model = "mlp";
  defaults.data.batch_size = 2;
  defaults.priority = 7;
  return defaults;
}

TEST(ReadMixTest, ReadsEveryField) {
  const auto classes = ReadMix(R"({"classes": [{
      "name": "long", "model": "minilm", "version": "2", "weight": 0.5, "batch": 4, "data": "zero", "distinct": 3,
      "shapes": {"input_ids": [128]}, "ranges": {"input_ids": [0, 30522]}, "string_length": 5,
      "parameters": {"flag": true, "count": 3, "share": 0.5, "who": "me"}, "priority": 1, "timeout": "20ms",
      "deadline": 100, "cancel": "0.1,5ms"}]})",
                               Defaults());
  ASSERT_TRUE(classes.ok()) << classes.status().ToString();
  const ClassDescription& of = classes->front();
  EXPECT_EQ(of.data.class_name, "long");
  EXPECT_EQ(of.model, "minilm");
  EXPECT_EQ(of.version, "2");
  EXPECT_EQ(of.weight, 0.5);
  EXPECT_EQ(of.data.batch_size, 4);
  EXPECT_EQ(of.data.source, "zero");
  EXPECT_EQ(of.data.distinct, 3);
  EXPECT_THAT(of.data.shapes.at("input_ids"), ElementsAre(128));
  EXPECT_EQ(of.data.ranges.at("input_ids").high, "30522");
  EXPECT_EQ(of.data.string_length, 5);
  ASSERT_EQ(of.data.parameters.size(), 4u);
  EXPECT_EQ(of.priority, 1u);
  EXPECT_EQ(of.timeout, microseconds(20'000));
  EXPECT_EQ(of.deadline, milliseconds(100));
  EXPECT_EQ(of.cancel_share, 0.1);
  EXPECT_EQ(of.cancel_after, milliseconds(5));
}

TEST(ReadMixTest, WhatAClassLeavesOutIsAsOnTheCommandLine) {
  const auto classes = ReadMix(R"({"classes": [{"name": "a"}, {"batch": 1, "weight": 3}]})", Defaults());
  ASSERT_TRUE(classes.ok()) << classes.status().ToString();
  EXPECT_EQ((*classes)[0].data.batch_size, 2);
  EXPECT_EQ((*classes)[0].priority, 7u);
  EXPECT_EQ((*classes)[0].weight, 1);
  EXPECT_EQ((*classes)[1].data.class_name, "mlp");
  EXPECT_EQ((*classes)[1].data.batch_size, 1);
}

TEST(ReadMixTest, FaultsAreToldByClassAndField) {
  const auto error = [](const std::string& json) { return ReadMix(json, Defaults()).status().message(); };
  EXPECT_THAT(error("[]"), HasSubstr("\"classes\""));
  EXPECT_THAT(error(R"({"classes": []})"), HasSubstr("\"classes\""));
  EXPECT_THAT(error("{"), HasSubstr("\"classes\""));
  EXPECT_THAT(error(R"({"classes": [{"wieght": 3}]})"),
              AllOf(HasSubstr("class 0"), HasSubstr("wieght"), HasSubstr("weight")));
  EXPECT_THAT(error(R"({"classes": [{"name": "a"}, {"weight": 0}]})"),
              AllOf(HasSubstr("class 1: weight"), HasSubstr("0")));
  EXPECT_THAT(error(R"({"classes": [{"batch": 0}]})"), HasSubstr("batch: "));
  EXPECT_THAT(error(R"({"classes": [{"shapes": {"x": [-1]}}]})"), HasSubstr("shapes: 'x'"));
  EXPECT_THAT(error(R"({"classes": [{"ranges": {"x": [3, 1]}}]})"), HasSubstr("ranges: "));
  EXPECT_THAT(error(R"({"classes": [{"timeout": "soon"}]})"), HasSubstr("timeout: "));
  EXPECT_THAT(error(R"({"classes": [{"cancel": "2,5ms"}]})"), HasSubstr("cancel: "));
  EXPECT_THAT(error(R"({"classes": [{}, {}]})"), HasSubstr("another class has the name"));
  ClassDescription none;
  EXPECT_THAT(ReadMix(R"({"classes": [{}]})", none).status().message(), HasSubstr("no model"));
}

}  // namespace
}  // namespace ferry
