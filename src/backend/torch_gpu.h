#ifndef FERRY_BACKEND_TORCH_GPU_H_
#define FERRY_BACKEND_TORCH_GPU_H_

#include <c10/core/Device.h>

#include "backend/graphed_forward.h"
#include "ferry/device.h"

namespace ferry {

// What libtorch's CUDA part is told; nothing where `device` is the CPU. A build without CUDA has no other device.

// From now on libtorch's work on `device` of the calling thread goes into `stream`, which must outlive that work.
void UseStream(c10::Device device, DeviceStream& stream);

// Gives memory back to the device that libtorch keeps for itself after it was freed. Waits for all work of the device:
// for when there is no memory left.
void ReleaseKeptMemory(c10::Device device);

// Records into CUDA graphs, which all take their memory from one pool: each is to be replayed on the stream in use, and its
// outputs taken by work on that stream, before another is.
// REQUIRES: `device` is a GPU.
RecordWork MakeWorkRecorder(c10::Device device);

}  // namespace ferry

#endif  // FERRY_BACKEND_TORCH_GPU_H_
