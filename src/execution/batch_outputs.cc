#include "execution/batch_outputs.h"

#include <algorithm>

#include "base/strings.h"
#include "execution/reshape.h"

namespace ferry {

namespace {

std::string OutputName(const ModelConfig& config, const TensorConfig& output) {
  return StrCat("model '", config.name, "': output '", output.name, "'");
}

Status CheckOutput(const ModelConfig& config, int64_t rows, const TensorConfig& expected, const Tensor& output) {
  if (output.type != expected.type) {
    return InvalidArgumentError(StrCat(OutputName(config, expected), " has type ", DataTypeName(output.type),
                                       ", but the configuration says ", DataTypeName(expected.type)));
  }
  Shape allowed = ModelDims(expected);
  if (config.batches()) allowed.insert(allowed.begin(), rows);
  if (config.batches() && (output.shape.empty() || output.shape.front() != rows)) {
    return UnimplementedError(StrCat(OutputName(config, expected), " cannot be split among the requests of the batch: ",
                                     "expected shape ", ShapeToString(allowed), ", got ", ShapeToString(output.shape)));
  }
  if (!ShapeMatches(allowed, output.shape)) {
    return InternalError(StrCat(OutputName(config, expected), ": expected shape ", ShapeToString(allowed), ", got ",
                                ShapeToString(output.shape)));
  }
  return Status();
}

}  // namespace

Status CheckOutputs(const ModelConfig& config, const GatheredInputs& inputs, std::span<const Tensor> outputs) {
  if (outputs.size() != config.outputs.size()) {
    return InvalidArgumentError(
        StrCat("model '", config.name, "': expected ", config.outputs.size(), " outputs, got ", outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    FERRY_RETURN_IF_ERROR(CheckOutput(config, inputs.rows, config.outputs[i], outputs[i]));
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
    }
    part.shape = ReshapeForCaller(config.outputs[static_cast<size_t>(index)], config.batches(), part.shape);
    response.outputs.push_back(std::move(part));
  }
  return response;
}

}  // namespace ferry
