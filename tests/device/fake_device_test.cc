#include "support/fake_device.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBytes = 4;

Bytes All(const MemoryBlock& block) { return {block.get(), kBytes}; }

bool HoldsOnly(const MemoryBlock& block, std::byte value) {
  return std::all_of(block.get(), block.get() + kBytes, [value](std::byte byte) { return byte == value; });
}

// A device with a block of each kind, two streams and two events.
class FakeDeviceTest : public ::testing::Test {
 protected:
  FakeDeviceTest() { std::fill_n(host_.get(), kBytes, std::byte{7}); }

  Status CopyIn() { return first_->CopyToDevice(memory_.get(), All(host_)); }
  Status CopyOut() { return second_->CopyToHost(host_.get(), All(memory_)); }

  FakeDevice device_;
  MemoryBlock host_ = device_.AllocateHost(kBytes).value();
  MemoryBlock memory_ = device_.AllocateDevice(kBytes).value();
  std::unique_ptr<DeviceStream> first_ = device_.CreateStream().value();
  std::unique_ptr<DeviceStream> second_ = device_.CreateStream().value();
  std::unique_ptr<DeviceEvent> event_ = device_.CreateEvent().value();
  std::unique_ptr<DeviceEvent> other_event_ = device_.CreateEvent().value();
};

TEST_F(FakeDeviceTest, CopyHappensWhenTheTestFinishesIt) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  EXPECT_THAT(device_.Pending(0), ElementsAre("copy to device", "record"));
  EXPECT_TRUE(HoldsOnly(memory_, FakeDevice::kUnwritten));
  // What is written before the copy is done is what it copies: the sender was not to touch it.
  host_.get()[0] = std::byte{8};
  device_.FinishNext(0);
  EXPECT_EQ(memory_.get()[0], std::byte{8});
  EXPECT_THAT(device_.Pending(0), IsEmpty());
  EXPECT_THAT(event_->Wait(), IsOk());
}

TEST_F(FakeDeviceTest, StreamsFinishOutOfStep) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  ASSERT_THAT(CopyOut(), IsOk());
  ASSERT_THAT(second_->Record(*other_event_), IsOk());
  device_.FinishNext(1);
  EXPECT_THAT(other_event_->Wait(), IsOk());
  // The copy out was not told to wait for the copy in, and the fake shows it.
  EXPECT_TRUE(HoldsOnly(host_, FakeDevice::kUnwritten));
  device_.FinishNext(0);
}

TEST_F(FakeDeviceTest, StreamWaitsForTheEventOfAnother) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  ASSERT_THAT(second_->WaitFor(*event_), IsOk());
  ASSERT_THAT(CopyOut(), IsOk());
  EXPECT_THAT(device_.Pending(1), ElementsAre("wait", "copy to host"));
  device_.FinishNext(0);
  EXPECT_THAT(device_.Pending(1), ElementsAre("copy to host"));
  device_.FinishNext(1);
  EXPECT_TRUE(HoldsOnly(host_, std::byte{7}));
}

TEST_F(FakeDeviceTest, StreamWaitsForWhatTheEventStoodForThen) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  ASSERT_THAT(second_->WaitFor(*event_), IsOk());
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  device_.FinishNext(0);
  EXPECT_THAT(device_.Pending(1), IsEmpty());
  device_.FinishNext(0);
}

TEST_F(FakeDeviceTest, WaitingThreadGoesOnWhenTheWorkIsDone) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  bool finished = false;
  std::thread waiter([&] {
    EXPECT_THAT(event_->Wait(), IsOk());
    EXPECT_TRUE(finished);
    EXPECT_TRUE(HoldsOnly(memory_, std::byte{7}));
  });
  finished = true;
  device_.FinishNext(0);
  waiter.join();
}

TEST_F(FakeDeviceTest, TestWaitsForWhatAnotherThreadBegins) {
  std::thread beginner([&] {
    EXPECT_THAT(CopyIn(), IsOk());
    EXPECT_THAT(first_->Record(*event_), IsOk());
    EXPECT_THAT(event_->Wait(), IsOk());
  });
  device_.BlockUntilPending(0, 2);
  EXPECT_THAT(device_.Pending(0), ElementsAre("copy to device", "record"));
  device_.FinishNext(0);
  beginner.join();
}

TEST_F(FakeDeviceTest, StreamEndsAfterItsWork) {
  ASSERT_THAT(CopyIn(), IsOk());
  std::thread owner([&] { first_.reset(); });
  device_.FinishNext(0);
  owner.join();
  EXPECT_TRUE(HoldsOnly(memory_, std::byte{7}));
}

TEST_F(FakeDeviceTest, LaunchedFunctionRunsInItsTurn) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(FakeDevice::Launch(*first_,
                                 [&] {
                                   memory_.get()[0] = std::byte{9};
                                   return Status();
                                 }),
              IsOk());
  device_.FinishNext(0);
  EXPECT_THAT(device_.Pending(0), ElementsAre("launch"));
  EXPECT_EQ(memory_.get()[0], std::byte{7});
  device_.FinishNext(0);
  EXPECT_EQ(memory_.get()[0], std::byte{9});
}

TEST_F(FakeDeviceTest, RunsFreelyWhenTold) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  ASSERT_THAT(second_->WaitFor(*event_), IsOk());
  device_.RunFreely();
  EXPECT_TRUE(HoldsOnly(memory_, std::byte{7}));
  memory_.get()[0] = std::byte{8};
  ASSERT_THAT(CopyOut(), IsOk());
  EXPECT_THAT(second_->Wait(), IsOk());
  EXPECT_EQ(host_.get()[0], std::byte{8});
}

TEST_F(FakeDeviceTest, CallsFailWhenTheyAreTold) {
  device_.FailNext(FakeStep::kAllocateDevice, ResourceExhaustedError("full"), 1);
  EXPECT_THAT(device_.AllocateDevice(1), IsOk());
  EXPECT_THAT(device_.AllocateHost(1), IsOk());
  EXPECT_THAT(device_.AllocateDevice(1), HasStatus(StatusCode::kResourceExhausted, Eq("full")));
  EXPECT_THAT(device_.AllocateDevice(1), IsOk());
  device_.FailNext(FakeStep::kBeginCopyToDevice, InternalError("no copy"));
  device_.FailNext(FakeStep::kRecord, InternalError("no event"));
  EXPECT_THAT(CopyIn(), HasStatus(StatusCode::kInternal, Eq("no copy")));
  EXPECT_THAT(first_->Record(*event_), HasStatus(StatusCode::kInternal, Eq("no event")));
  EXPECT_THAT(device_.Pending(0), IsEmpty());
}

TEST_F(FakeDeviceTest, FailedCopyIsToldByTheNextEventOnly) {
  device_.FailNext(FakeStep::kCopyToDevice, InternalError("lost"));
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*other_event_), IsOk());
  device_.FinishNext(0);
  EXPECT_THAT(event_->Wait(), HasStatus(StatusCode::kInternal, Eq("lost")));
  EXPECT_TRUE(HoldsOnly(memory_, FakeDevice::kUnwritten));
  device_.FinishNext(0);
  EXPECT_THAT(other_event_->Wait(), IsOk());
  EXPECT_THAT(device_.CheckHealth(), IsOk());
}

TEST_F(FakeDeviceTest, FailedLaunchIsToldByStreamsThatWaitForIt) {
  ASSERT_THAT(FakeDevice::Launch(*first_, [] { return InternalError("kernel"); }), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  ASSERT_THAT(second_->WaitFor(*event_), IsOk());
  ASSERT_THAT(CopyOut(), IsOk());
  ASSERT_THAT(second_->Record(*other_event_), IsOk());
  device_.FinishNext(0);
  device_.FinishNext(1);
  EXPECT_THAT(other_event_->Wait(), HasStatus(StatusCode::kInternal, Eq("kernel")));
}

TEST_F(FakeDeviceTest, DeadDeviceFailsEverythingAndKeepsNobodyWaiting) {
  ASSERT_THAT(CopyIn(), IsOk());
  ASSERT_THAT(first_->Record(*event_), IsOk());
  auto waited = std::async(std::launch::async, [&] { return event_->Wait(); });
  device_.Die("an illegal memory access");
  const auto dead = HasStatus(StatusCode::kUnavailable, HasSubstr("fake:0: an illegal memory access"));
  EXPECT_THAT(waited.get(), dead);
  EXPECT_THAT(device_.CheckHealth(), dead);
  EXPECT_THAT(device_.AllocateHost(1), dead);
  EXPECT_THAT(device_.CreateStream(), dead);
  EXPECT_THAT(CopyIn(), dead);
  EXPECT_THAT(second_->Wait(), dead);
  EXPECT_TRUE(HoldsOnly(memory_, FakeDevice::kUnwritten));
}

TEST_F(FakeDeviceTest, CountsBlocks) {
  EXPECT_EQ(device_.blocks_given(), 2u);
  EXPECT_EQ(device_.blocks_returned(), 0u);
  memory_.reset();
  EXPECT_EQ(device_.blocks_given(), 2u);
  EXPECT_EQ(device_.blocks_returned(), 1u);
}

TEST_F(FakeDeviceTest, MemoryGivenBackBeforeItsCopyIsDoneFailsTheTest) {
  ASSERT_THAT(CopyIn(), IsOk());
  EXPECT_NONFATAL_FAILURE(host_.reset(), "given back while a copy from or to it is pending");
  device_.FinishNext(0);
  EXPECT_THAT(first_->Wait(), HasStatus(StatusCode::kInternal, HasSubstr("given back")));
}

TEST_F(FakeDeviceTest, MemoryOfSomebodyElseFailsTheTest) {
  std::byte mine[kBytes] = {};
  EXPECT_NONFATAL_FAILURE((void)first_->CopyToDevice(memory_.get(), mine), "not the device's");
  EXPECT_NONFATAL_FAILURE((void)first_->CopyToHost(mine, All(memory_)), "not the device's");
  EXPECT_NONFATAL_FAILURE((void)first_->CopyToDevice(host_.get(), All(memory_)), "not of this kind");
  EXPECT_NONFATAL_FAILURE((void)first_->CopyToDevice(memory_.get() + 1, All(host_)), "not the device's");
  EXPECT_THAT(device_.Pending(0), IsEmpty());
}

TEST_F(FakeDeviceTest, EventOfAnotherDeviceFailsTheTest) {
  FakeDevice other("fake:1");
  const auto foreign = other.CreateEvent().value();
  EXPECT_NONFATAL_FAILURE((void)first_->Record(*foreign), "event of another device");
  EXPECT_NONFATAL_FAILURE((void)first_->WaitFor(*foreign), "event of another device");
  const auto host_event = MakeHostDevice()->CreateEvent().value();
  EXPECT_NONFATAL_FAILURE((void)first_->WaitFor(*host_event), "event of another device");
}

}  // namespace
}  // namespace ferry
