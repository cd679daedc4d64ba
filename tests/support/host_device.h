#ifndef FERRY_TESTS_SUPPORT_HOST_DEVICE_H_
#define FERRY_TESTS_SUPPORT_HOST_DEVICE_H_

#include "ferry/device.h"

namespace ferry {

// The host, for tests that are not about devices.
inline Device& Host() {
  static const std::unique_ptr<Device> host = MakeHostDevice();
  return *host;
}

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_HOST_DEVICE_H_
