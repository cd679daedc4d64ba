#include "device/cuda_status.h"

#include "base/strings.h"

namespace ferry {

namespace {

StatusCode CodeOf(cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) return StatusCode::kResourceExhausted;
  return EndsContext(error) ? StatusCode::kUnavailable : StatusCode::kInternal;
}

}  // namespace

bool EndsContext(cudaError_t error) {
  switch (error) {
    // Those of which driver_types.h says that the process must be terminated and relaunched.
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    // Those of which it says less, but that leave nothing to go on with.
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
      return true;
    default:
      return false;
  }
}

Status CudaStatus(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return Status();
  return Status(CodeOf(error), StrCat(what, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")"));
}

}  // namespace ferry
