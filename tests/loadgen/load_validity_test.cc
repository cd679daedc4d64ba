#include "loadgen/load_validity.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Responses of 2 ms, so that 1 ms is the lateness that is allowed.
LoadPoint PointWith(int on_time, int late) {
  LoadPoint point;
  point.load = {LoadShape::Kind::kRate, 100, "poisson"};
  for (int i = 0; i < on_time + late; ++i) point.response.Record(milliseconds(2));
  for (int i = 0; i < on_time; ++i) point.lateness.Record(microseconds(80));
  for (int i = 0; i < late; ++i) point.lateness.Record(milliseconds(4));
  return point;
}

TEST(LoadValidityTest, OneLateRequestOfAFewIsNoise) { EXPECT_FALSE(GeneratorFellBehind(PointWith(29, 1))); }

TEST(LoadValidityTest, SeveralLateRequestsOfAFewAreNot) { EXPECT_TRUE(GeneratorFellBehind(PointWith(26, 4))); }

TEST(LoadValidityTest, OfManyRequestsOnePercentMayBeLate) {
  EXPECT_FALSE(GeneratorFellBehind(PointWith(9'950, 50)));
  EXPECT_TRUE(GeneratorFellBehind(PointWith(9'800, 200)));
}

TEST(LoadValidityTest, LatenessIsMeasuredByTheResponseOfSlowServers) {
  LoadPoint point = PointWith(0, 100);
  point.response = {};
  for (int i = 0; i < 100; ++i) point.response.Record(milliseconds(50));
  EXPECT_FALSE(GeneratorFellBehind(point)) << "4 ms of 50";
}

TEST(LoadValidityTest, ThePointSaysHowLate) {
  LoadPoint point = PointWith(9'800, 200);
  point.ok = 10'000;
  CheckValidity(0, point);
  ASSERT_EQ(point.invalid.size(), 1u);
  EXPECT_NE(point.invalid[0].find("allowed: 1.00 ms"), std::string::npos) << point.invalid[0];
}

// A closed loop with so many answers in each second.
LoadPoint ClosedLoopOf(const std::vector<uint64_t>& answers) {
  LoadPoint point;
  point.load = {LoadShape::Kind::kConcurrency, 8, "closed"};
  point.window = std::chrono::seconds(answers.size());
  for (const uint64_t ok : answers) {
    point.seconds.push_back({static_cast<double>(point.seconds.size()), ok, ok, 0, {}, {}, {}});
    point.ok += ok;
  }
  return point;
}

TEST(LoadValidityTest, AClosedLoopThatStillGetsFasterIsNotStationary) {
  LoadPoint rising = ClosedLoopOf({100, 110, 118, 131, 140, 152, 160, 171, 179, 190, 201, 210});
  CheckValidity(0, rising);
  ASSERT_EQ(rising.notes.size(), 1u);
  EXPECT_NE(rising.notes[0].find("rose by"), std::string::npos) << rising.notes[0];
  LoadPoint steady = ClosedLoopOf({100, 103, 99, 101, 100, 98, 102, 100, 101, 99, 100, 102});
  CheckValidity(0, steady);
  EXPECT_TRUE(steady.notes.empty());
}

}  // namespace
}  // namespace ferry
