#ifndef FERRY_BACKEND_TORCHSCRIPT_BACKEND_H_
#define FERRY_BACKEND_TORCHSCRIPT_BACKEND_H_

#include <memory>

#include "ferry/backend.h"

namespace ferry {

// The backend for platform "pytorch_libtorch": TorchScript files, on the CPU or, in a build with CUDA, a GPU. Parameters as in Triton's PyTorch backend:
// INFERENCE_MODE, DISABLE_OPTIMIZED_EXECUTION, INTRA_OP_THREAD_COUNT and ENABLE_WEIGHT_SHARING are acted on (weights
// are shared unless it says false); others are named in a warning.
std::unique_ptr<Backend> MakeTorchScriptBackend();

}  // namespace ferry

#endif  // FERRY_BACKEND_TORCHSCRIPT_BACKEND_H_
