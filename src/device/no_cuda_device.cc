// Takes the place of cuda_device.cc in a build without CUDA.

#include "base/strings.h"
#include "ferry/device.h"

namespace ferry {

int CountGpus() { return 0; }

Result<std::unique_ptr<Device>> MakeCudaDevice(int index) {
  return UnimplementedError(StrCat("GPU ", index, ": this build of Ferry has no CUDA; build it with -DFERRY_CUDA=ON"));
}

}  // namespace ferry
