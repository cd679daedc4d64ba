#ifndef FERRY_DEVICE_CUDA_STATUS_H_
#define FERRY_DEVICE_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include <string_view>

#include "ferry/status.h"

namespace ferry {

// True for the errors after which CUDA fails every call of this process on that GPU, whoever makes it.
bool EndsContext(cudaError_t error);

// OK for cudaSuccess. Else RESOURCE_EXHAUSTED, UNAVAILABLE or INTERNAL as ferry/device.h says, with a message like
// "cuda:0: cannot allocate 64 bytes: out of memory (cudaErrorMemoryAllocation)", whose begin is `what`.
Status CudaStatus(cudaError_t error, std::string_view what);

}  // namespace ferry

#endif  // FERRY_DEVICE_CUDA_STATUS_H_
