#ifndef FERRY_BACKEND_MODEL_OUTPUTS_H_
#define FERRY_BACKEND_MODEL_OUTPUTS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "ferry/status.h"

namespace ferry {

// The tensors in what a model's forward() returned, with names where it was a dict.
struct ModelOutputs {
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;
};

//   INVALID_ARGUMENT  neither a tensor nor a tuple, list or dict of tensors
Result<ModelOutputs> FlattenOutputs(c10::IValue value);

}  // namespace ferry

#endif  // FERRY_BACKEND_MODEL_OUTPUTS_H_
