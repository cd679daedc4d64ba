#include "backend/graph_plan.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

using Step = GraphPlan::Step;
using Shapes = std::vector<Shape>;

Step NextAfter(GraphPlan& plan, const Shapes& shapes, uint32_t runs) {
  for (uint32_t i = 0; i < runs; ++i) plan.Next(shapes);
  return plan.Next(shapes);
}

TEST(GraphPlanTest, AShapeIsRunThreeTimesThenRecordedThenReplayed) {
  GraphPlan plan;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(plan.Next({{4, 2}}), Step::kRun);
  EXPECT_EQ(plan.Next({{4, 2}}), Step::kRecord);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(plan.Next({{4, 2}}), Step::kReplay);
}

TEST(GraphPlanTest, EachBatchSizeHasItsOwnGraph) {
  GraphPlan plan;
  EXPECT_EQ(NextAfter(plan, {{4, 2}}, 4), Step::kReplay);
  EXPECT_EQ(plan.Next({{8, 2}}), Step::kRun);
  EXPECT_EQ(plan.Next({{4, 2}, {4}}), Step::kRun);
}

TEST(GraphPlanTest, BeyondTheMostGraphsShapesAreRun) {
  GraphPlan plan;
  for (size_t i = 0; i < GraphPlan::kMostGraphs; ++i) {
    EXPECT_EQ(NextAfter(plan, {{static_cast<int64_t>(i)}}, 3), Step::kRecord);
  }
  EXPECT_EQ(NextAfter(plan, {{1000}}, 9), Step::kRun);
  EXPECT_EQ(plan.Next({{0}}), Step::kReplay);
}

TEST(GraphPlanTest, ShapesThatDoNotComeBackAreNotRememberedForEver) {
  GraphPlan plan;
  EXPECT_EQ(NextAfter(plan, {{0}}, 2), Step::kRun);
  for (int64_t i = 1; i < 5000; ++i) EXPECT_EQ(plan.Next({{i}}), Step::kRun);
  EXPECT_EQ(NextAfter(plan, {{4999}}, 9), Step::kRun);
  EXPECT_EQ(plan.Next({{0}}), Step::kRecord);
}

TEST(GraphPlanTest, AfterAFailureTheGraphsThatAreThereServeAndNoneIsAdded) {
  GraphPlan plan;
  ASSERT_EQ(NextAfter(plan, {{1}}, 3), Step::kRecord);
  ASSERT_EQ(NextAfter(plan, {{2}}, 3), Step::kRecord);
  plan.Abandon({{2}});
  EXPECT_EQ(plan.Next({{1}}), Step::kReplay);
  EXPECT_EQ(NextAfter(plan, {{2}}, 9), Step::kRun);
  EXPECT_EQ(NextAfter(plan, {{3}}, 9), Step::kRun);
}

}  // namespace
}  // namespace ferry
