// Takes the place of torch_gpu.cc in a build without CUDA.

#include "backend/torch_gpu.h"
#include "ferry/check.h"

namespace ferry {

void UseStream(c10::Device, DeviceStream&) {}

void ReleaseKeptMemory(c10::Device) {}

RecordWork MakeWorkRecorder(c10::Device) { FERRY_CHECK(false, "a build without CUDA runs nothing on a GPU"); }

}  // namespace ferry
