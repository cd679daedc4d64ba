#include "execution/reshape.h"

namespace ferry {

namespace {

// `shape` matches `from`; the result matches `to`.
Shape Reshape(const Shape& from, const Shape& to, bool batches, const Shape& shape) {
  const size_t batch = batches ? 1 : 0;
  Shape variable;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == -1) variable.push_back(shape[batch + i]);
  }
  Shape reshaped(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(batch));
  auto next = variable.begin();
  for (const int64_t dim : to) reshaped.push_back(dim == -1 ? *next++ : dim);
  return reshaped;
}

}  // namespace

Shape ReshapeForModel(const TensorConfig& input, bool batches, const Shape& shape) {
  return input.model_dims ? Reshape(input.dims, *input.model_dims, batches, shape) : shape;
}

Shape ReshapeForCaller(const TensorConfig& output, bool batches, const Shape& shape) {
  return output.model_dims ? Reshape(*output.model_dims, output.dims, batches, shape) : shape;
}

}  // namespace ferry
