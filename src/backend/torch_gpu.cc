#include "backend/torch_gpu.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

namespace ferry {

void UseStream(c10::Device device, DeviceStream& stream) {
  if (!device.is_cuda()) return;
  c10::cuda::set_device(device.index());
  auto* const native = static_cast<cudaStream_t>(stream.native_handle());
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromExternal(native, device.index()));
}

void ReleaseKeptMemory(c10::Device device) {
  if (device.is_cuda()) c10::cuda::CUDACachingAllocator::emptyCache();
}

}  // namespace ferry
