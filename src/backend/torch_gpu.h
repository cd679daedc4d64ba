#ifndef FERRY_BACKEND_TORCH_GPU_H_
#define FERRY_BACKEND_TORCH_GPU_H_

#include <c10/core/Device.h>

#include "ferry/device.h"

namespace ferry {

// What libtorch's CUDA part is told; nothing where `device` is the CPU. A build without CUDA has no other device.

// From now on libtorch's work on `device` of the calling thread goes into `stream`, which must outlive that work.
void UseStream(c10::Device device, DeviceStream& stream);

// Gives memory back to the device that libtorch keeps for itself after it was freed. Waits for all work of the device:
// for when there is no memory left.
void ReleaseKeptMemory(c10::Device device);

}  // namespace ferry

#endif  // FERRY_BACKEND_TORCH_GPU_H_
