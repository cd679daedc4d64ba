#ifndef FERRY_TESTS_SUPPORT_HOST_DEVICE_H_
#define FERRY_TESTS_SUPPORT_HOST_DEVICE_H_

#include "ferry/device.h"

namespace ferry {

// The host alone, for tests that are not about devices.
inline Device& Host() {
  static const std::unique_ptr<Device> host = MakeHostDevice();
  return *host;
}

inline Devices& HostOnly() {
  static Devices devices(0, [](Placement) { return Result<std::unique_ptr<Device>>(MakeHostDevice()); });
  return devices;
}

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_HOST_DEVICE_H_
