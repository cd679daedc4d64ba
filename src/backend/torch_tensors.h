#ifndef FERRY_BACKEND_TORCH_TENSORS_H_
#define FERRY_BACKEND_TORCH_TENSORS_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "ferry/tensor.h"

namespace ferry {

// A tensor on the view's own bytes, which lie on `device` and must stay as they are while it is used. REQUIRES: not of type BYTES, which torch has
// not and configurations are refused for.
at::Tensor WrapInTorch(const TensorView& view, c10::Device device);

// Takes over the tensor's memory on `device`. It is copied first where it is on another, and where somebody else could
// change it later: when the model returns an input, a parameter or one tensor twice.
//   INVALID_ARGUMENT  of a type that the protocol has no name for
Result<Tensor> TakeFromTorch(at::Tensor tensor, c10::Device device);

// One line for a person, at most 512 characters, from what libtorch threw: its useful part is the last line of an error
// inside the interpreter and the first of any other.
std::string OneLine(std::string_view what);

}  // namespace ferry

#endif  // FERRY_BACKEND_TORCH_TENSORS_H_
