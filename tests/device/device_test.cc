#include "ferry/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Placement> AllDevices() {
  std::vector<Placement> devices{kOnHost};
  for (int gpu = 0; gpu < CountGpus(); ++gpu) devices.push_back(gpu);
  return devices;
}

// What holds for every device: the host, and each GPU that there is.
class DeviceTest : public ::testing::TestWithParam<Placement> {
 protected:
  static std::unique_ptr<Device> Make(Placement index) {
    return index == kOnHost ? MakeHostDevice() : MakeCudaDevice(index).value();
  }

  const std::unique_ptr<Device> device_ = Make(GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, DeviceTest, ::testing::ValuesIn(AllDevices()), [](const auto& test) {
  return test.param == kOnHost ? std::string("Host") : "Gpu" + std::to_string(test.param);
});

TEST_P(DeviceTest, HasItsName) {
  EXPECT_EQ(device_->name(), GetParam() == kOnHost ? "cpu" : "cuda:" + std::to_string(GetParam()));
  EXPECT_EQ(device_->SharesHostMemory(), GetParam() == kOnHost);
}

TEST_P(DeviceTest, MemoryIsAligned) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{100'000}}) {
    const MemoryBlock host = device_->AllocateHost(bytes).value();
    const MemoryBlock device = device_->AllocateDevice(bytes).value();
    ASSERT_NE(host, nullptr);
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(host.get()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(device.get()) % 64, 0u);
  }
}

// A sanitizer's allocator ends the process instead.
#ifndef FERRY_SANITIZED
TEST_P(DeviceTest, RefusesMoreMemoryThanThereIs) {
  constexpr size_t kTooMuch = size_t{1} << 60;
  EXPECT_THAT(device_->AllocateHost(kTooMuch),
              HasStatus(StatusCode::kResourceExhausted, HasSubstr("1152921504606846976 bytes")));
  EXPECT_THAT(device_->AllocateDevice(kTooMuch),
              HasStatus(StatusCode::kResourceExhausted, HasSubstr("1152921504606846976 bytes")));
  EXPECT_THAT(device_->CheckHealth(), IsOk());
}
#endif

// Two streams, as for copies in and copies out, whose order is made by an event alone.
TEST_P(DeviceTest, BytesComeBackAsTheyWent) {
  constexpr size_t kBytes = 1 << 20;
  const MemoryBlock sent = device_->AllocateHost(kBytes).value();
  const MemoryBlock received = device_->AllocateHost(kBytes).value();
  const MemoryBlock memory = device_->AllocateDevice(kBytes).value();
  const auto in = device_->CreateStream().value();
  const auto out = device_->CreateStream().value();
  const auto copied_in = device_->CreateEvent().value();
  const auto copied_out = device_->CreateEvent().value();
  for (const int round : {1, 2, 3}) {
    std::fill_n(sent.get(), kBytes, static_cast<std::byte>(round));
    EXPECT_THAT(in->CopyToDevice(memory.get(), {sent.get(), kBytes}), IsOk());
    EXPECT_THAT(in->Record(*copied_in), IsOk());
    EXPECT_THAT(out->WaitFor(*copied_in), IsOk());
    EXPECT_THAT(out->CopyToHost(received.get(), {memory.get(), kBytes}), IsOk());
    EXPECT_THAT(out->Record(*copied_out), IsOk());
    EXPECT_THAT(copied_out->Wait(), IsOk());
    EXPECT_TRUE(std::equal(sent.get(), sent.get() + kBytes, received.get()));
  }
  EXPECT_THAT(device_->CheckHealth(), IsOk());
}

TEST_P(DeviceTest, CopiesWithinOneBlockOfMemory) {
  const MemoryBlock host = device_->AllocateHost(4).value();
  const MemoryBlock memory = device_->AllocateDevice(2).value();
  const auto stream = device_->CreateStream().value();
  const std::array<std::byte, 4> bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::ranges::copy(bytes, host.get());
  EXPECT_THAT(stream->CopyToDevice(memory.get(), {host.get() + 2, 2}), IsOk());
  EXPECT_THAT(stream->CopyToHost(host.get(), {memory.get(), 2}), IsOk());
  EXPECT_THAT(stream->Wait(), IsOk());
  EXPECT_EQ(host.get()[0], std::byte{3});
  EXPECT_EQ(host.get()[1], std::byte{4});
}

TEST_P(DeviceTest, CopiesOfNothingAreDone) {
  const MemoryBlock host = device_->AllocateHost(0).value();
  const MemoryBlock memory = device_->AllocateDevice(0).value();
  const auto stream = device_->CreateStream().value();
  EXPECT_THAT(stream->CopyToDevice(memory.get(), {}), IsOk());
  EXPECT_THAT(stream->CopyToHost(host.get(), {}), IsOk());
  EXPECT_THAT(stream->Wait(), IsOk());
}

TEST_P(DeviceTest, EventThatWasNeverRecordedHoldsUpNobody) {
  const auto stream = device_->CreateStream().value();
  const auto event = device_->CreateEvent().value();
  EXPECT_THAT(event->Wait(), IsOk());
  EXPECT_THAT(stream->WaitFor(*event), IsOk());
  EXPECT_THAT(stream->Wait(), IsOk());
}

TEST(GpuTest, NumberThatDoesNotExistIsAnErrorThatSaysWhy) {
  const auto code = AnyOf(Eq(StatusCode::kNotFound), Eq(StatusCode::kUnimplemented));
  for (const int index : {-1, CountGpus(), 1000}) {
    const Result<std::unique_ptr<Device>> device = MakeCudaDevice(index);
    EXPECT_THAT(device.status().code(), code);
    EXPECT_THAT(device.status().message(), HasSubstr("GPU " + std::to_string(index) + ": "));
    // There is no driver, or no GPU, or no CUDA in this build.
    if (CountGpus() == 0) {
      EXPECT_THAT(device.status().message(), HasSubstr("CUDA"));
    }
  }
}

TEST(DevicesTest, ADeviceIsOpenedWhenItIsFirstAskedFor) {
  std::vector<Placement> opened;
  Devices devices(2, [&](Placement placement) {
    opened.push_back(placement);
    return Result<std::unique_ptr<Device>>(MakeHostDevice());
  });
  EXPECT_EQ(devices.gpus(), 2);
  EXPECT_THAT(opened, IsEmpty());
  Device* const first = devices.At(1).value();
  EXPECT_EQ(devices.At(1).value(), first);
  EXPECT_NE(devices.At(kOnHost).value(), first);
  EXPECT_THAT(opened, ElementsAre(1, kOnHost));
}

TEST(DevicesTest, WhatCouldNotBeOpenedIsTriedAgain) {
  bool there = false;
  Devices devices(1, [&](Placement) -> Result<std::unique_ptr<Device>> {
    if (!there) return NotFoundError("no driver");
    return MakeHostDevice();
  });
  EXPECT_THAT(devices.At(0).status(), HasStatus(StatusCode::kNotFound, HasSubstr("no driver")));
  there = true;
  EXPECT_TRUE(devices.At(0).ok());
}

TEST(DevicesTest, TheProcesssOwnAreTheHostAndItsGpus) {
  Devices devices;
  EXPECT_EQ(devices.gpus(), CountGpus());
  EXPECT_EQ(devices.At(kOnHost).value()->name(), "cpu");
}

}  // namespace
}  // namespace ferry
