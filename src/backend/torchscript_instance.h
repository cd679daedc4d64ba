#ifndef FERRY_BACKEND_TORCHSCRIPT_INSTANCE_H_
#define FERRY_BACKEND_TORCHSCRIPT_INSTANCE_H_

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <vector>

#include "backend/tensor_binding.h"
#include "backend/torch_tensors.h"
#include "ferry/backend.h"

namespace ferry {

struct TorchScriptOptions {
  c10::Device device = c10::kCPU;
  int threads = 1;                  // of one run
  bool inference_mode = true;       // else only without gradients
  bool optimized_execution = true;  // the profiling executor's optimizations
  bool share_weights = true;
  bool graphs = false;  // REQUIRES: `device` is a GPU
};

struct TorchScriptBinding {
  InputBinding inputs;
  std::vector<c10::IValue> defaults;  // of forward()'s arguments
  // Positions among the model's outputs, or why they are unclear, which does not matter when the model returns a dict.
  Result<std::vector<size_t>> outputs = std::vector<size_t>();
};

// An instance that runs `module`, which others may run at the same time. Borrows `config` and `binding`.
std::unique_ptr<ModelInstance> MakeTorchScriptInstance(const ModelConfig& config, const TorchScriptOptions& options,
                                                       const TorchScriptBinding& binding, torch::jit::Module module);

}  // namespace ferry

#endif  // FERRY_BACKEND_TORCHSCRIPT_INSTANCE_H_
