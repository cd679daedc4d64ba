#include "ferry/model_config.h"

#include <algorithm>

namespace ferry {

namespace {

int FindTensor(const std::vector<TensorConfig>& tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
  return found == tensors.end() ? -1 : static_cast<int>(found - tensors.begin());
}

}  // namespace

int ModelConfig::FindInput(std::string_view wanted) const { return FindTensor(inputs, wanted); }
int ModelConfig::FindOutput(std::string_view wanted) const { return FindTensor(outputs, wanted); }

std::vector<std::string> ModelConfig::ModelInputNames() const {
  std::vector<std::string> names;
  for (const TensorConfig& input : inputs) names.push_back(input.name);
  for (const BatchInput& input : batch_inputs) names.push_back(input.name);
  return names;
}

bool ModelConfig::HasVariableInput() const {
  return !batch_inputs.empty() || std::any_of(inputs.begin(), inputs.end(), [](const TensorConfig& input) {
    return input.optional || input.ragged || std::find(input.dims.begin(), input.dims.end(), -1) != input.dims.end();
  });
}

int64_t Padding::RoundUp(int64_t extent) const {
  const auto length = std::lower_bound(lengths.begin(), lengths.end(), extent);
  return length == lengths.end() ? extent : *length;
}

const Shape& ModelDims(const TensorConfig& tensor) { return tensor.model_dims ? *tensor.model_dims : tensor.dims; }

bool ShapeMatches(std::span<const int64_t> dims, std::span<const int64_t> shape) {
  return std::equal(dims.begin(), dims.end(), shape.begin(), shape.end(),
                    [](int64_t dim, int64_t extent) { return dim == -1 || dim == extent; });
}

}  // namespace ferry
