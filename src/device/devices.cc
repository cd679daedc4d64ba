#include "ferry/device.h"

namespace ferry {

namespace {

Result<std::unique_ptr<Device>> OpenDevice(Placement placement) {
  if (placement == kOnHost) return MakeHostDevice();
  return MakeCudaDevice(placement);
}

}  // namespace

Devices::Devices() : Devices(CountGpus(), OpenDevice) {}

Result<Device*> Devices::At(Placement placement) {
  MutexLock lock(mutex_);
  std::unique_ptr<Device>& device = opened_[placement];
  if (!device) {
    Result<std::unique_ptr<Device>> opened = open_(placement);
    if (!opened.ok()) return opened.status();
    device = std::move(opened).value();
  }
  return device.get();
}

}  // namespace ferry
