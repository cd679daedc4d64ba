#include "frontend/admission.h"

#include <gtest/gtest.h>

#include <future>

#include "support/fake_clock.h"

namespace ferry {
namespace {

TEST(AdmissionTest, AClosedDoorLetsNobodyIn) {
  Admission admission;
  EXPECT_TRUE(admission.TryEnter());
  admission.Close();
  EXPECT_FALSE(admission.TryEnter());
}

TEST(AdmissionTest, CountsWhomItRefuses) {
  Admission admission;
  EXPECT_FALSE(admission.RefuseEarly());
  admission.Close();
  EXPECT_TRUE(admission.RefuseEarly());
  EXPECT_FALSE(admission.TryEnter());
  EXPECT_EQ(admission.refused(), 2u);
}

TEST(AdmissionTest, WaitsUntilTheLastHasLeft) {
  FakeClock clock;
  Admission admission;
  ASSERT_TRUE(admission.TryEnter());
  const TimePoint deadline = clock.Now() + std::chrono::seconds(1);
  auto empty = std::async(std::launch::async, [&] { return admission.WaitUntilEmpty(clock, deadline); });
  clock.BlockUntilSomeoneWaitsFor(deadline);
  admission.Leave();
  EXPECT_TRUE(empty.get());
}

TEST(AdmissionTest, GivesUpAtTheDeadline) {
  FakeClock clock;
  Admission admission;
  ASSERT_TRUE(admission.TryEnter());
  const TimePoint deadline = clock.Now() + std::chrono::seconds(1);
  auto empty = std::async(std::launch::async, [&] { return admission.WaitUntilEmpty(clock, deadline); });
  clock.BlockUntilSomeoneWaitsFor(deadline);
  clock.AdvanceBy(std::chrono::seconds(1));
  EXPECT_FALSE(empty.get());
}

}  // namespace
}  // namespace ferry
