#include "backend/tensor_binding.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/strings.h"

namespace ferry {

namespace {

// The number behind the first "__" of the name.
std::optional<size_t> IndexInName(const std::string& name) {
  const size_t mark = name.find("__");
  if (mark == std::string::npos) return std::nullopt;
  return ParseNumber<size_t>(std::string_view(name).substr(mark + 2));
}

// Each tensor's index, or nothing when no name has one.
Result<std::optional<std::vector<size_t>>> Indexes(std::string_view kind, const std::vector<TensorConfig>& tensors) {
  std::vector<size_t> indexes;
  for (const TensorConfig& tensor : tensors) {
    const std::optional<size_t> index = IndexInName(tensor.name);
    if (!index) continue;
    if (std::ranges::find(indexes, *index) != indexes.end()) {
      return InvalidArgumentError(StrCat(kind, " ", Quoted(tensor.name), ": index ", *index, " is given twice"));
    }
    indexes.push_back(*index);
  }
  if (indexes.empty()) return std::optional<std::vector<size_t>>();
  if (indexes.size() != tensors.size()) {
    std::vector<std::string> names;
    for (const TensorConfig& tensor : tensors) names.push_back(Quoted(tensor.name));
    return InvalidArgumentError(StrCat("of the ", kind, " names ", StrJoin(names, ", "),
                                       " some end in __<index> and some do not, so their order is unclear"));
  }
  return std::optional(std::move(indexes));
}

std::optional<std::vector<size_t>> ByName(const ModelConfig& config, const ForwardArguments& arguments) {
  std::vector<size_t> bound;
  for (const TensorConfig& input : config.inputs) {
    const auto found = std::ranges::find(arguments.names, input.name);
    if (found == arguments.names.end()) return std::nullopt;
    bound.push_back(static_cast<size_t>(found - arguments.names.begin()));
  }
  return bound;
}

Status CheckBound(const ModelConfig& config, const ForwardArguments& arguments, const std::vector<size_t>& bound) {
  const std::string signature = StrCat("forward(", StrJoin(arguments.names, ", "), ")");
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i] >= arguments.names.size()) {
      return InvalidArgumentError(StrCat("input ", Quoted(config.inputs[i].name), ": the model's ", signature, " has ",
                                         arguments.names.size(), " arguments"));
    }
  }
  for (size_t i = 0; i < arguments.names.size(); ++i) {
    if (!arguments.has_default[i] && std::ranges::find(bound, i) == bound.end()) {
      return InvalidArgumentError(StrCat("argument '", arguments.names[i], "' of the model's ", signature,
                                         " gets none of the ", config.inputs.size(), " inputs"));
    }
  }
  return Status();
}

std::vector<size_t> InOrder(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

}  // namespace

Result<InputBinding> BindInputs(const ModelConfig& config, const ForwardArguments& arguments) {
  InputBinding binding;
  if (arguments.single_dict) {
    binding.kind = InputBinding::Kind::kDict;
    return binding;
  }
  if (std::optional<std::vector<size_t>> named = ByName(config, arguments)) {
    binding.argument = *std::move(named);
  } else {
    Result<std::optional<std::vector<size_t>>> indexed = Indexes("input", config.inputs);
    if (!indexed.ok()) return indexed.status();
    binding.by_order = !indexed->has_value() && config.inputs.size() > 1;
    binding.argument = indexed->has_value() ? **indexed : InOrder(config.inputs.size());
  }
  FERRY_RETURN_IF_ERROR(CheckBound(config, arguments, binding.argument));
  return binding;
}

Result<std::vector<size_t>> BindOutputs(const ModelConfig& config) {
  Result<std::optional<std::vector<size_t>>> indexed = Indexes("output", config.outputs);
  if (!indexed.ok()) return indexed.status();
  return indexed->has_value() ? **indexed : InOrder(config.outputs.size());
}

}  // namespace ferry
