#include "loadgen/scenario.h"

#include <gmock/gmock.h>

namespace ferry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Responses of 1, 2, ... ms, over so long.
BenchResult ResultOf(int responses, seconds time) {
  BenchResult result;
  LoadPoint& point = result.points.emplace_back();
  for (int i = 1; i <= responses; ++i) point.response.Record(milliseconds(i));
  point.ok = point.offered = static_cast<uint64_t>(responses);
  point.window = point.measured = time;
  return result;
}

TEST(ScenarioTest, TheLatencyIsTheGreatestButThoseThatEarlyStoppingLetsOff) {
  // By the rules' table p90 takes 44, 64 and 81 queries for 0, 1 and 2 over the bound.
  EXPECT_NEAR(JudgeScenario(Scenario::kSingleStream, ResultOf(64, seconds(600))).value, 64, 0.1);
  EXPECT_NEAR(JudgeScenario(Scenario::kSingleStream, ResultOf(80, seconds(600))).value, 80, 0.1);
  EXPECT_NEAR(JudgeScenario(Scenario::kSingleStream, ResultOf(81, seconds(600))).value, 80, 0.1);
  EXPECT_THAT(JudgeScenario(Scenario::kSingleStream, ResultOf(81, seconds(600))).short_of_rules, IsEmpty());
  // And p99 459, 662 and 838.
  EXPECT_NEAR(JudgeScenario(Scenario::kMultiStream, ResultOf(838, seconds(600))).value, 837, 0.9);
}

TEST(ScenarioTest, WhatIsShortOfTheRulesIsTold) {
  const ScenarioResult few = JudgeScenario(Scenario::kMultiStream, ResultOf(100, seconds(10)));
  EXPECT_THAT(few.short_of_rules, ElementsAre(HasSubstr("662"), HasSubstr("of 600 s")));
  BenchResult wrong = ResultOf(100, seconds(600));
  wrong.points[0].invalid = {"3 answers were wrong"};
  EXPECT_THAT(JudgeScenario(Scenario::kSingleStream, wrong).short_of_rules, ElementsAre("3 answers were wrong"));
  EXPECT_THAT(JudgeScenario(Scenario::kSingleStream, BenchResult()).short_of_rules,
              ElementsAre("nothing was measured"));
}

TEST(ScenarioTest, OfflineCountsSamples) {
  BenchResult result = ResultOf(100, seconds(600));
  result.points[0].rows = 8;
  result.points[0].requests_per_second = 50;
  const ScenarioResult judged = JudgeScenario(Scenario::kOffline, result);
  EXPECT_EQ(judged.value, 400);
  EXPECT_EQ(judged.unit, "samples/s");
  EXPECT_THAT(judged.short_of_rules, ElementsAre("800 samples of 24576"));
}

TEST(ScenarioTest, ScenariosSetTheLoadThemselves) {
  MeasureOptions options;
  ASSERT_TRUE(ApplyScenario(Scenario::kMultiStream, options).ok());
  EXPECT_EQ(options.batch, 8);
  EXPECT_THAT(options.concurrencies, ElementsAre(1));
  EXPECT_FALSE(ApplyScenario(Scenario::kSingleStream, options).ok());
  MeasureOptions server;
  EXPECT_THAT(ApplyScenario(Scenario::kServer, server).message(), HasSubstr("needs --latency-threshold"));
  server.objective = milliseconds(15);
  EXPECT_TRUE(ApplyScenario(Scenario::kServer, server).ok());
  EXPECT_THAT(ApplyScenario(Scenario::kOffline, server).message(), HasSubstr("takes no --latency-threshold"));
}

TEST(ScenarioTest, NamesAreRead) {
  for (const char* const name : {"single-stream", "multi-stream", "server", "offline"}) {
    EXPECT_EQ(JudgeScenario(ParseScenario(name).value(), ResultOf(100, seconds(1))).name, name);
  }
  EXPECT_EQ(ParseScenario("batch"), std::nullopt);
}

}  // namespace
}  // namespace ferry
