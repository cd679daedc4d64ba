#include <gmock/gmock.h>

#include "loadgen/report_csv.h"
#include "loadgen/report_json.h"
#include "loadgen/report_table.h"
#include "loadgen/result_comparison.h"
#include "loadgen/sample_result.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportTest, EveryQuantileHasItsInterval) {
  const std::string text = TableReport(SampleResult(SamplePoint()));
  EXPECT_THAT(text, AllOf(HasSubstr("with 95 % confidence: p50 4"), HasSubstr("p90 8"), HasSubstr("p99 9"),
                          HasSubstr("(1000 answers)"), Not(HasSubstr("p99.9 9"))));
  EXPECT_THAT(JsonReport(SampleResult(SamplePoint())), HasSubstr("\"response_intervals_ms\""));
}

TEST(JsonReportTest, IsReadAsItWasWritten) {
  BenchResult result = SampleResult(SamplePoint());
  result.objective = {0.99, milliseconds(50), 120, 130, "because"};
  result.points[0].notes = {"a note"};
  result.scenario = {"offline", "throughput", 400, "samples/s", {"too short"}};
  result.points[0].cancelled = 1;
  result.points[0].metrics = {{"requests_total{model=\"mlp\"}", 3, 5}};
  result.points[0].first_fault = "output 'y' [0]: 2 instead of 3";
  result.points[0].classes = {{"a", 6, 4, 1, 1, SamplePoint(10).response}};
  result.points[0].failures[0].message = "queue full";
  const std::string text = JsonReport(result);
  const auto read = ReadJsonReport(text);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(JsonReport(*read), text);
  EXPECT_EQ(read->points[0].response.Quantile(0.99), result.points[0].response.Quantile(0.99));
  EXPECT_EQ(read->points[0].server->batches.at(4).executions, 400u);
  EXPECT_EQ(read->objective->bound, milliseconds(50));
}

TEST(JsonReportTest, WhatIsNoResultIsRefused) {
  EXPECT_THAT(ReadJsonReport("{"), HasStatus(StatusCode::kInvalidArgument, HasSubstr("no result of ferry-bench")));
  EXPECT_THAT(ReadJsonReport("{\"schema\": \"ferry-bench/9\"}"),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("'ferry-bench/9': must be ferry-bench/1")));
  EXPECT_THAT(ReadJsonReport("{\"schema\": \"ferry-bench/1\"}"),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("version")));
}

TEST(TableReportTest, TellsAPoint) {
  const std::string text = TableReport(SampleResult(SamplePoint()));
  EXPECT_THAT(text, AllOf(HasSubstr("8 at once"), HasSubstr("500 us"), HasSubstr("n<2995"),
                          HasSubstr("3 x UNAVAILABLE"), HasSubstr("queue 100 us"), HasSubstr("compute infer 200 us")));
  EXPECT_THAT(text, HasSubstr("400 x 400 us"));
  EXPECT_THAT(text, Not(HasSubstr("INVALID")));
}

TEST(TableReportTest, AnInvalidPointCannotBeOverlooked) {
  LoadPoint point = SamplePoint();
  point.invalid = {"the generator fell behind"};
  EXPECT_THAT(TableReport(SampleResult(point)),
              AllOf(HasSubstr("INVALID\n"), HasSubstr("INVALID: the generator fell behind")));
}

TEST(TableReportTest, NothingAtAllIsTold) {
  BenchResult result = SampleResult(LoadPoint());
  EXPECT_THAT(TableReport(result), HasSubstr("1 at once"));
  result.points.clear();
  EXPECT_THAT(TableReport(result), HasSubstr("nothing was measured"));
}

TEST(CsvReportTest, HasPerfAnalyzersColumns) {
  const std::string text = CsvReport(SampleResult(SamplePoint()));
  EXPECT_THAT(text, HasSubstr("Concurrency,Inferences/Second,Client Send,"));
  EXPECT_THAT(text, HasSubstr("\n8,1000.00,0,200,100,0,200,0,0,500,900,950,990\n"));
}

std::vector<BenchResult> Runs(std::vector<double> slownesses) {
  std::vector<BenchResult> results;
  for (const double slowness : slownesses) results.push_back(SampleResult(SamplePoint(1000, slowness)));
  return results;
}

TEST(ResultComparisonTest, ASlowerServerIsCalledSlower) {
  const auto base = Runs({1, 1.01, 0.99, 1, 1.005});
  const auto slow = Runs({1.1, 1.11, 1.09, 1.1, 1.105});
  const auto comparisons = CompareResults(base, slow, 0.02);
  ASSERT_THAT(comparisons, IsOk());
  ASSERT_EQ(comparisons->size(), 3u);
  for (const auto& each : *comparisons) EXPECT_EQ(each.comparison.verdict, Comparison::Verdict::kSlower) << each.figure;
  const auto alike = CompareResults(base, base, 0.02);
  ASSERT_THAT(alike, IsOk());
  for (const auto& each : *alike) {
    EXPECT_EQ(each.comparison.verdict, Comparison::Verdict::kSame) << each.figure;
  }
  EXPECT_THAT(ComparisonText(*comparisons), HasSubstr("slower"));
}

TEST(ResultComparisonTest, WhatCannotBeComparedIsTold) {
  const auto base = Runs({1, 1});
  auto other = Runs({1, 1});
  other[0].model = "another";
  EXPECT_THAT(CompareResults(base, other, 0.02),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("different models")));
  other = Runs({1, 1});
  other[1].points[0].load.value = 9;
  EXPECT_THAT(CompareResults(base, other, 0.02), HasStatus(StatusCode::kInvalidArgument, HasSubstr("no load")));
  other[1].points[0].invalid = {"it was stopped"};
  EXPECT_THAT(CompareResults(base, other, 0.02), HasStatus(StatusCode::kInvalidArgument, HasSubstr("it was stopped")));
}

}  // namespace
}  // namespace ferry
