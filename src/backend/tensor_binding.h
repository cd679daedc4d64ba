#ifndef FERRY_BACKEND_TENSOR_BINDING_H_
#define FERRY_BACKEND_TENSOR_BINDING_H_

#include <string>
#include <vector>

#include "ferry/model_config.h"

namespace ferry {

// How the configured inputs reach forward()'s arguments and how its results become the configured outputs. Triton's
// rules (its PyTorch backend's README, "Naming conventions").

struct InputBinding {
  enum class Kind { kArguments, kDict };
  Kind kind = Kind::kArguments;
  // For kArguments: the argument that each configured input goes to.
  std::vector<size_t> argument;
  // Bound only by the order in the file, for want of a better sign: worth a warning.
  bool by_order = false;
};

// forward()'s arguments without self.
struct ForwardArguments {
  std::vector<std::string> names;
  std::vector<bool> has_default;
  bool single_dict = false;  // its one argument is a Dict[str, Tensor]
};

// Inputs are bound by name when all their names are argument names; else by index when all are `<any>__<index>`; else
// in order when none is. A dict argument takes any names as its keys.
//   INVALID_ARGUMENT  some names have an index and some do not; an index is given twice or is beyond the arguments;
//                     an argument without a default gets no input; there are more inputs than arguments
Result<InputBinding> BindInputs(const ModelConfig& config, const ForwardArguments& arguments);

// The position of each configured output among the model's outputs: by `<any>__<index>` when all have one, else in
// order. Outputs of a model that returns a dict are found by name at run time instead.
//   INVALID_ARGUMENT  some names have an index and some do not, or an index is given twice
Result<std::vector<size_t>> BindOutputs(const ModelConfig& config);

}  // namespace ferry

#endif  // FERRY_BACKEND_TENSOR_BINDING_H_
