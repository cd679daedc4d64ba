#include "loadgen/load_recorder.h"

#include <gmock/gmock.h>

namespace ferry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TimePoint kStart{seconds(1000)};

TimePoint At(int64_t ms) { return kStart + milliseconds(ms); }

MeasuredWindow Window(bool by_due, int64_t ms = 2000) { return {kStart, At(ms), by_due}; }

constexpr CallEnd kOk{};

TEST(LoadRecorderTest, AResponseCountsFromWhenItWasDue) {
  LoadRecorder recorder(Window(true), {"all"});
  recorder.Done({At(100), At(350), At(400)}, kOk, 0);
  const LoadPoint point = recorder.Result();
  EXPECT_EQ(point.response.max(), milliseconds(300));
  EXPECT_EQ(point.service.max(), milliseconds(50));
  EXPECT_EQ(point.lateness.max(), milliseconds(250));
}

TEST(LoadRecorderTest, AnOpenLoopCountsWhatWasDueInsideHoweverLateItsAnswer) {
  LoadRecorder recorder(Window(true), {"all"});
  recorder.Done({At(-1), At(-1), At(500)}, kOk, 0);
  recorder.Done({At(1999), At(1999), At(9000)}, kOk, 0);
  recorder.Done({At(2000), At(2000), At(2001)}, kOk, 0);
  const LoadPoint point = recorder.Result();
  EXPECT_EQ(point.ok, 1u);
  EXPECT_EQ(point.response.max(), milliseconds(7001));
  EXPECT_EQ(point.measured, seconds(9));  // until its answer: the server took so long for it
}

TEST(LoadRecorderTest, AClosedLoopCountsWhatIsAnsweredInside) {
  LoadRecorder recorder(Window(false), {"all"});
  recorder.Done({At(-100), At(-100), At(10)}, kOk, 0);
  recorder.Done({At(1990), At(1990), At(2010)}, kOk, 0);
  const LoadPoint point = recorder.Result();
  EXPECT_EQ(point.ok, 1u);
  EXPECT_EQ(point.response.max(), milliseconds(110));
  EXPECT_EQ(point.measured, seconds(2));
}

TEST(LoadRecorderTest, InAClosedLoopEachRequestCountsWithItsShareInTheWindow) {
  LoadRecorder recorder(Window(false), {"all"});
  // One client, whose requests take 800 ms each.
  for (const int64_t sent : {-300, 500, 1300}) recorder.Done({At(sent), At(sent), At(sent + 800)}, kOk, 0);
  const LoadPoint point = recorder.Result();
  EXPECT_EQ(point.ok, 2u);
  EXPECT_NEAR(point.requests_per_second, 1 / 0.8, 1e-9);
}

TEST(LoadRecorderTest, FailuresAreCountedByCodeAndMessageAndHaveNoLatency) {
  LoadRecorder recorder(Window(true), {"all"});
  for (int i = 0; i < 2; ++i) recorder.Done({At(1), At(1), At(2)}, {14, "queue full"}, 0);
  recorder.Done({At(1), At(1), At(2)}, {4, "too late"}, 0);
  recorder.Dropped(At(3), 0);
  const LoadPoint point = recorder.Result();
  EXPECT_EQ(point.offered, 4u);
  EXPECT_EQ(point.failed, 4u);
  EXPECT_EQ(point.dropped, 1u);
  EXPECT_EQ(point.response.count(), 0u);
  ASSERT_EQ(point.failures.size(), 3u);
  EXPECT_EQ(point.failures[0].code, "UNAVAILABLE");
  EXPECT_EQ(point.failures[0].message, "queue full");
  EXPECT_EQ(point.failures[0].count, 2u);
}

TEST(LoadRecorderTest, WhatTheLoadCancelledIsNeitherAnsweredNorFailed) {
  LoadRecorder recorder(Window(true), {"all"});
  recorder.Done({At(1), At(1), At(2)}, {1, "cancelled", "", true}, 0);
  recorder.Done({At(1), At(1), At(2)}, {0, "", "", true}, 0);  // the answer was quicker
  recorder.Done({At(1), At(1), At(2)}, {1, "the server cancelled it"}, 0);
  const LoadPoint point = recorder.Result();
  EXPECT_EQ(point.offered, 3u);
  EXPECT_EQ(point.cancelled, 1u);
  EXPECT_EQ(point.ok, 1u);
  EXPECT_EQ(point.failed, 1u);
  EXPECT_EQ(point.seconds[0].offered, 3u);
}

TEST(LoadRecorderTest, TheFirstFaultOfAnAnswerIsKept) {
  LoadRecorder recorder(Window(true), {"all"});
  LoadRecorder other(Window(true), {"all"});
  recorder.Done({At(1), At(1), At(2)}, kOk, 0);
  other.Done({At(1), At(1), At(2)}, {0, "", "output 'y' [0]: 2 instead of 3"}, 0);
  other.Done({At(1), At(1), At(2)}, {0, "", "output 'y' [0]: 4 instead of 3"}, 0);
  recorder.Merge(other);
  EXPECT_EQ(recorder.Result().wrong, 2u);
  EXPECT_EQ(recorder.Result().ok, 3u);
  EXPECT_EQ(recorder.Result().first_fault, "output 'y' [0]: 2 instead of 3");
}

TEST(LoadRecorderTest, MessagesThatDifferEachTimeDoNotFillTheMemory) {
  LoadRecorder recorder(Window(true), {"all"});
  for (int i = 0; i < 1000; ++i) {
    recorder.Done({At(1), At(1), At(2)}, {13, "request " + std::to_string(i) + " failed"}, 0);
  }
  const LoadPoint point = recorder.Result();
  EXPECT_LE(point.failures.size(), 101u);
  EXPECT_EQ(point.failures[0].message, "(further messages)");
}

TEST(LoadRecorderTest, EachSecondHasItsOwnFigures) {
  LoadRecorder recorder(Window(true), {"all"});
  recorder.Done({At(999), At(999), At(1009)}, kOk, 0);
  recorder.Done({At(1000), At(1000), At(1500)}, kOk, 0);
  const LoadPoint point = recorder.Result();
  ASSERT_EQ(point.seconds.size(), 2u);
  EXPECT_EQ(point.seconds[0].ok, 1u);
  EXPECT_EQ(point.seconds[0].max, milliseconds(10));
  EXPECT_EQ(point.seconds[1].begin_s, 1.0);
  EXPECT_EQ(point.seconds[1].max, milliseconds(500));
}

TEST(LoadRecorderTest, ALongRunHasFewerAndLongerSlots) {
  LoadRecorder recorder(Window(true, 3'600'000), {"all"});
  recorder.Done({At(3'599'999), At(3'599'999), At(3'600'000)}, kOk, 0);
  const LoadPoint point = recorder.Result();
  EXPECT_EQ(point.seconds.size(), 300u);
  EXPECT_EQ(point.seconds[1].begin_s, 12.0);
  EXPECT_EQ(point.seconds[299].ok, 1u);
}

TEST(LoadRecorderTest, MergingIsCountingInOne) {
  LoadRecorder one(Window(true), {"a", "b"});
  LoadRecorder other(Window(true), {"a", "b"});
  one.Done({At(1), At(1), At(2)}, kOk, 0);
  other.Done({At(1), At(1), At(4)}, kOk, 1);
  other.Done({At(1), At(1), At(4)}, {13, "x"}, 1);
  one.Merge(other);
  const LoadPoint point = one.Result();
  EXPECT_EQ(point.ok, 2u);
  ASSERT_EQ(point.classes.size(), 2u);
  EXPECT_EQ(point.classes[1].offered, 2u);
  EXPECT_EQ(point.classes[1].response.max(), milliseconds(3));
  EXPECT_EQ(one.totals().ok, 2u);
}

TEST(LoadRecorderTest, OneKindOfRequestIsNoMix) {
  LoadRecorder recorder(Window(true), {"all"});
  EXPECT_THAT(recorder.Result().classes, IsEmpty());
}

}  // namespace
}  // namespace ferry
