// Takes the place of torch_gpu.cc in a build without CUDA.

#include "backend/torch_gpu.h"

namespace ferry {

void UseStream(c10::Device, DeviceStream&) {}

void ReleaseKeptMemory(c10::Device) {}

}  // namespace ferry
