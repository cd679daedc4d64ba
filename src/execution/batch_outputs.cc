#include "execution/batch_outputs.h"

#include <algorithm>
#include <cstring>

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

const BatchOutput* FindBatchOutput(const ModelConfig& config, size_t index) {
  const auto found = std::ranges::find(config.batch_outputs, index, &BatchOutput::output);
  return found == config.batch_outputs.end() ? nullptr : &*found;
}

// An output that is shared out by the elements of its source.
Status CheckScattered(const ModelConfig& config, const BatchOutput& batch_output, const GatheredInputs& inputs,
                      const Tensor& output) {
  const int64_t expected = *ElementCount(inputs.views[batch_output.source].shape);
  if (ElementCount(output.shape) == expected) return Status();
  return UnimplementedError(StrCat(OutputName(config, config.outputs[batch_output.output]),
                                   " cannot be split among the requests of the batch: expected ", expected,
                                   " elements, as input '", config.inputs[batch_output.source].name,
                                   "' has, got shape ", ShapeToString(output.shape)));
}

Status CheckRows(const ModelConfig& config, const TensorConfig& expected, const Shape& allowed, const Tensor& output) {
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

Status CheckOutput(const ModelConfig& config, const GatheredInputs& inputs, size_t index, const Tensor& output) {
  const TensorConfig& expected = config.outputs[index];
  if (output.type != expected.type) {
    return InvalidArgumentError(StrCat(OutputName(config, expected), " has type ", DataTypeName(output.type),
                                       ", but the configuration says ", DataTypeName(expected.type)));
  }
  if (const BatchOutput* scattered = FindBatchOutput(config, index)) {
    return CheckScattered(config, *scattered, inputs, output);
  }
  return CheckRows(config, expected, AllowedShape(config, inputs, index), output);
}

// `part` without what its padded inputs have brought into it; a copy, unless nothing was padded.
Tensor CutBack(const ModelConfig& config, const InferRequest& request, size_t index, Tensor part) {
  Shape cut_shape = part.shape;
  for (const Padding::Cut& cut : config.padding->cuts) {
    if (cut.output == index) cut_shape[cut.output_dim + 1] = request.inputs[cut.input].shape[cut.input_dim + 1];
  }
  if (cut_shape == part.shape) return part;
  Tensor cut = ZeroTensor(part.type, std::move(cut_shape));
  auto* to = const_cast<std::byte*>(cut.bytes.data());
  const size_t element = DataTypeSize(part.type);
  ForEachRun(part.shape, cut.shape, [&](size_t offset, size_t count) {
    std::memcpy(to, part.bytes.data() + offset * element, count * element);
    to += count * element;
  });
  return cut;
}

// The request's rows of the output.
Tensor RowsOf(const InferRequest& request, int64_t first_row, const Tensor& whole) {
  Tensor part = whole;
  const size_t row_bytes = whole.bytes.size() / static_cast<size_t>(std::max<int64_t>(whole.shape.front(), 1));
  part.shape.front() = request.rows;
  part.bytes =
      whole.bytes.subspan(static_cast<size_t>(first_row) * row_bytes, static_cast<size_t>(request.rows) * row_bytes);
  return part;
}

// As many elements of the output as the request's source has, in the source's shape.
Tensor ScatteredPart(const BatchOutput& batch_output, const InferRequest& request, const BatchPosition& position,
                     const Tensor& whole) {
  Tensor part = whole;
  part.shape = request.inputs[batch_output.source].shape;
  const size_t element = DataTypeSize(whole.type);
  part.bytes = whole.bytes.subspan(static_cast<size_t>(position.elements[batch_output.source]) * element,
                                   static_cast<size_t>(*ElementCount(part.shape)) * element);
  return part;
}

}  // namespace

Status CheckOutputs(const ModelConfig& config, const GatheredInputs& inputs, std::span<const Tensor> outputs) {
  if (outputs.size() != config.outputs.size()) {
    return InvalidArgumentError(
        StrCat("model '", config.name, "': expected ", config.outputs.size(), " outputs, got ", outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    FERRY_RETURN_IF_ERROR(CheckOutput(config, inputs, i, outputs[i]));
  }
  return Status();
}

void BatchPosition::Advance(const InferRequest& request) {
  row += request.rows;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (request.inputs[i].type != DataType::kInvalid) elements[i] += *ElementCount(request.inputs[i].shape);
  }
}

InferResponse CutOutputs(const ModelConfig& config, const InferRequest& request, const BatchPosition& position,
                         std::span<const Tensor> outputs) {
  InferResponse response;
  response.outputs.reserve(request.outputs.size());
  for (const int wanted : request.outputs) {
    const auto index = static_cast<size_t>(wanted);
    Tensor part = outputs[index];
    if (const BatchOutput* scattered = FindBatchOutput(config, index)) {
      part = ScatteredPart(*scattered, request, position, part);
    } else if (config.batches()) {
      part = RowsOf(request, position.row, part);
      if (config.padding) part = CutBack(config, request, index, std::move(part));
    }
    part.shape = ReshapeForCaller(config.outputs[index], config.batches(), part.shape);
    response.outputs.push_back(std::move(part));
  }
  return response;
}

}  // namespace ferry
