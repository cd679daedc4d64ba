#include "frontend/admission.h"

#include <gtest/gtest.h>

#include <future>

#include "support/fake_clock.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kUnavailable = StatusCode::kUnavailable;
constexpr int64_t kMib = 1 << 20;

void Enter(Admission& admission, int64_t bytes) {
  ASSERT_THAT(admission.BeginCall(), IsOk());
  ASSERT_THAT(admission.TakeMessage(bytes), IsOk());
}

TEST(AdmissionTest, AClosedDoorLetsNobodyIn) {
  Admission admission({});
  ASSERT_THAT(admission.BeginCall(), IsOk());
  admission.Close();
  EXPECT_THAT(admission.TakeMessage(1), HasStatus(kUnavailable, HasSubstr("shutting down")));
  EXPECT_THAT(admission.BeginCall(), HasStatus(kUnavailable, HasSubstr("shutting down")));
  EXPECT_THAT(admission.refused(), ElementsAre(2, 0, 0));
}

TEST(AdmissionTest, CallsAreBoundedAlsoWhileTheirMessagesCome) {
  Admission admission({2, 100 * kMib});
  Enter(admission, 1);
  ASSERT_THAT(admission.BeginCall(), IsOk());
  EXPECT_THAT(admission.BeginCall(), HasStatus(kUnavailable, HasSubstr("maximum of 2 calls in flight")));
  admission.Abandon();
  EXPECT_THAT(admission.BeginCall(), IsOk());
  EXPECT_THAT(admission.refused(), ElementsAre(0, 1, 0));
}

TEST(AdmissionTest, BytesAreBoundedWhenTheMessageIsHere) {
  Admission admission({100, 10 * kMib});
  ASSERT_THAT(admission.BeginCall(), IsOk());
  Enter(admission, 6 * kMib);
  EXPECT_THAT(admission.TakeMessage(5 * kMib), HasStatus(kUnavailable, HasSubstr("5242880 bytes exceeds the maximum")));
  EXPECT_EQ(admission.bytes(), 6 * kMib);
  admission.Leave(6 * kMib);
  Enter(admission, 5 * kMib);
  EXPECT_THAT(admission.refused(), ElementsAre(0, 0, 1));
}

TEST(AdmissionTest, MessagesThatAreComingCountAsMuchAsTheLastLargeOne) {
  Admission admission({100, 10 * kMib});
  Enter(admission, 4 * kMib);  // and so is the next one taken to be
  ASSERT_THAT(admission.BeginCall(), IsOk());
  EXPECT_THAT(admission.BeginCall(), HasStatus(kUnavailable, HasSubstr("10485760 bytes in flight")));
  ASSERT_THAT(admission.TakeMessage(1), IsOk());
  EXPECT_THAT(admission.BeginCall(), IsOk());
}

TEST(AdmissionTest, SmallMessagesWearTheExpectationDown) {
  Admission admission({1000, 10 * kMib});
  for (int i = 0; i < 1000; ++i) {
    Enter(admission, 1);
    admission.Leave(1);
  }
  for (int i = 0; i < 160; ++i) EXPECT_THAT(admission.BeginCall(), IsOk()) << i;  // 64 KiB each
  EXPECT_THAT(admission.BeginCall(), HasStatus(kUnavailable, HasSubstr("bytes in flight")));
}

TEST(AdmissionTest, WhoIsAloneIsLetInWhateverItsSize) {
  Admission admission({100, 10});
  Enter(admission, 5 * kMib);
  admission.Leave(5 * kMib);
  Enter(admission, 5 * kMib);
}

TEST(AdmissionTest, WaitsUntilTheLastHasLeft) {
  FakeClock clock;
  Admission admission({});
  Enter(admission, 1);
  ASSERT_THAT(admission.BeginCall(), IsOk());  // never sends its message
  const TimePoint deadline = clock.Now() + std::chrono::seconds(1);
  auto empty = std::async(std::launch::async, [&] { return admission.WaitUntilEmpty(clock, deadline); });
  clock.BlockUntilSomeoneWaitsFor(deadline);
  admission.Leave(1);
  EXPECT_TRUE(empty.get());
}

TEST(AdmissionTest, GivesUpAtTheDeadline) {
  FakeClock clock;
  Admission admission({});
  Enter(admission, 1);
  const TimePoint deadline = clock.Now() + std::chrono::seconds(1);
  auto empty = std::async(std::launch::async, [&] { return admission.WaitUntilEmpty(clock, deadline); });
  clock.BlockUntilSomeoneWaitsFor(deadline);
  clock.AdvanceBy(std::chrono::seconds(1));
  EXPECT_FALSE(empty.get());
}

}  // namespace
}  // namespace ferry
