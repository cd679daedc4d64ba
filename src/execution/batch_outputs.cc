#include "execution/batch_outputs.h"

#include <algorithm>

#include "base/strings.h"
#include "execution/padding.h"
#include "execution/reshape.h"

namespace ferry {

namespace {

std::string OutputName(const ModelConfig& config, const TensorConfig& output) {
  return StrCat("model '", config.name, "': output '", output.name, "'");
}

// The shape that output `index` must have; -1 is any extent.
Shape AllowedShape(const ModelConfig& config, const GatheredInputs& inputs, size_t index) {
  Shape allowed = ModelDims(config.outputs[index]);
  if (!config.batches()) return allowed;
  if (config.padding) {
    for (const Padding::Cut& cut : config.padding->cuts) {
      if (cut.output == index) allowed[cut.output_dim] = inputs.views[cut.input].shape[cut.input_dim + 1];
    }
  }
  allowed.insert(allowed.begin(), inputs.rows);
  return allowed;
}

Status CheckOutput(const ModelConfig& config, const TensorConfig& expected, const Shape& allowed,
                   const Tensor& output) {
  if (output.type != expected.type) {
    return InvalidArgumentError(StrCat(OutputName(config, expected), " has type ", DataTypeName(output.type),
                                       ", but the configuration says ", DataTypeName(expected.type)));
  }
  if (config.batches() && (output.shape.empty() || output.shape.front() != allowed.front())) {
    return UnimplementedError(StrCat(OutputName(config, expected), " cannot be split among the requests of the batch: ",
                                     "expected shape ", ShapeToString(allowed), ", got ", ShapeToString(output.shape)));
  }
  if (!ShapeMatches(allowed, output.shape)) {
    return InternalError(StrCat(OutputName(config, expected), ": expected shape ", ShapeToString(allowed), ", got ",
                                ShapeToString(output.shape)));
  }
  return Status();
}

// `part` without what its padded inputs have brought into it; a copy, unless nothing was padded.
Tensor CutBack(const ModelConfig& config, const InferRequest& request, size_t index, Tensor part) {
  Shape cut_shape = part.shape;
  for (const Padding::Cut& cut : config.padding->cuts) {
    if (cut.output == index) cut_shape[cut.output_dim + 1] = request.inputs[cut.input].shape[cut.input_dim + 1];
  }
  if (cut_shape == part.shape) return part;
  Tensor cut = ZeroTensor(part.type, std::move(cut_shape));
  CopyBlock({const_cast<std::byte*>(cut.bytes.data()), cut.shape, part.bytes.data(), part.shape, cut.shape,
             DataTypeSize(part.type)});
  return cut;
}

}  // namespace

Status CheckOutputs(const ModelConfig& config, const GatheredInputs& inputs, std::span<const Tensor> outputs) {
  if (outputs.size() != config.outputs.size()) {
    return InvalidArgumentError(
        StrCat("model '", config.name, "': expected ", config.outputs.size(), " outputs, got ", outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    FERRY_RETURN_IF_ERROR(CheckOutput(config, config.outputs[i], AllowedShape(config, inputs, i), outputs[i]));
  }
  return Status();
}

InferResponse CutOutputs(const ModelConfig& config, const InferRequest& request, int64_t first_row,
                         std::span<const Tensor> outputs) {
  InferResponse response;
  response.outputs.reserve(request.outputs.size());
  for (const int index : request.outputs) {
    const Tensor& whole = outputs[static_cast<size_t>(index)];
    Tensor part = whole;
    if (config.batches()) {
      const size_t row_bytes = whole.bytes.size() / static_cast<size_t>(std::max<int64_t>(whole.shape.front(), 1));
      part.shape.front() = request.rows;
      part.bytes = whole.bytes.subspan(static_cast<size_t>(first_row) * row_bytes,
                                       static_cast<size_t>(request.rows) * row_bytes);
      if (config.padding) part = CutBack(config, request, static_cast<size_t>(index), std::move(part));
    }
    part.shape = ReshapeForCaller(config.outputs[static_cast<size_t>(index)], config.batches(), part.shape);
    response.outputs.push_back(std::move(part));
  }
  return response;
}

}  // namespace ferry
