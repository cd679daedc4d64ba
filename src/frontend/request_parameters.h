#ifndef FERRY_FRONTEND_REQUEST_PARAMETERS_H_
#define FERRY_FRONTEND_REQUEST_PARAMETERS_H_

#include <chrono>
#include <span>

#include "ferry/model_config.h"
#include "frontend/wire_request.h"

namespace ferry {

// The parameters of calls, inputs and outputs that have a meaning in the V2 protocol and Triton's extensions. Any other
// name is the caller's own and accepted, unless it starts with "triton_", which is reserved.

// How a call wants to be queued; meanings as in InferRequest.
struct QueueParameters {
  uint64_t priority = 0;
  std::chrono::microseconds timeout{0};
};

// Parameters of the whole call: the known ones must have their types.
//   INVALID_ARGUMENT  wrong type or value, unknown reserved name, a uint64 under a name of the caller's own
Result<QueueParameters> ReadRequestParameters(std::span<const WireParameter> parameters);

//   UNIMPLEMENTED  the input asks for shared memory
Status CheckInputParameters(const WireInput& input);

// The output's `classification`: how many classes to answer; 0 without it.
//   INVALID_ARGUMENT  not a positive number
//   UNIMPLEMENTED     the output asks for shared memory
Result<int64_t> ReadOutputParameters(const WireOutput& output);

// INVALID_ARGUMENT when classification cannot be had from the output's type.
Status CheckClassifiable(const TensorConfig& output);

}  // namespace ferry

#endif  // FERRY_FRONTEND_REQUEST_PARAMETERS_H_
