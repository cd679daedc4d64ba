#ifndef FERRY_EXECUTION_BATCH_OUTPUTS_H_
#define FERRY_EXECUTION_BATCH_OUTPUTS_H_

#include <span>
#include <vector>

#include "execution/batch_buffer.h"
#include "ferry/batcher.h"
#include "ferry/model_config.h"

namespace ferry {

// Says whether `outputs` are what the configuration promises for an execution on `inputs`: so many outputs, right types,
// first extent the batch, other extents within dims. Names the output, the expected and the real shape.
//   INVALID_ARGUMENT  type or number of outputs differ (Triton's code for it)
//   UNIMPLEMENTED     the first extent is not the batch, so the output cannot be cut (Triton's code for it)
//   INTERNAL          another extent differs
Status CheckOutputs(const ModelConfig& config, const GatheredInputs& inputs, std::span<const Tensor> outputs);

// How far the answers of a batch have got: where in the outputs the next request's part begins.
struct BatchPosition {
  int64_t row = 0;
  std::vector<int64_t> elements;  // of each input, for batch_output

  void Advance(const InferRequest& request);
};

// The part of each output that `request` wants, at `position`, sharing the batch's memory; what is cut back because an input
// was padded has memory of its own.
// REQUIRES: CheckOutputs() of `outputs` is OK.
InferResponse CutOutputs(const ModelConfig& config, const InferRequest& request, const BatchPosition& position,
                         std::span<const Tensor> outputs);

}  // namespace ferry

#endif  // FERRY_EXECUTION_BATCH_OUTPUTS_H_
