#ifndef FERRY_TESTS_SUPPORT_FAKE_GPU_H_
#define FERRY_TESTS_SUPPORT_FAKE_GPU_H_

#include <memory>
#include <utility>

#include "support/fake_device.h"

namespace ferry {

// The host, and a FakeDevice as the only GPU, which the test has in hand before it is opened.
class HostAndFakeGpu {
 public:
  FakeDevice& gpu() { return gpu_; }
  Devices& devices() { return devices_; }

 private:
  std::unique_ptr<FakeDevice> unopened_ = std::make_unique<FakeDevice>();
  FakeDevice& gpu_ = *unopened_;
  Devices devices_{1, [this](Placement placement) -> Result<std::unique_ptr<Device>> {
                     if (placement == kOnHost) return MakeHostDevice();
                     return std::unique_ptr<Device>(std::move(unopened_));
                   }};
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_FAKE_GPU_H_
