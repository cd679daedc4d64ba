#ifndef FERRY_FRONTEND_REQUEST_VALIDATOR_H_
#define FERRY_FRONTEND_REQUEST_VALIDATOR_H_

#include <vector>

#include "ferry/model_config.h"
#include "ferry/tensor.h"
#include "frontend/request_parameters.h"
#include "frontend/wire_request.h"

namespace ferry {

// What a valid call asks for, in the terms of its model's configuration.
struct ValidRequest {
  std::vector<InputView> inputs;     // in the order of the configuration
  std::vector<int> outputs;          // indexes into the configuration, in the order of the answer
  std::vector<int64_t> top_classes;  // for each of `outputs`: classes to answer instead of the tensor; 0: the tensor
  int64_t rows = 1;
  QueueParameters queue;
};

// Checks the whole call before it may wait in any queue. Of several faults the first is reported, always the same one:
// the steps go from parameters over inputs (duplicates, data, number, names, batch extent, then type, shape and size of
// each) to outputs, and within a step in the order of the wire.
//   INVALID_ARGUMENT  the call does not fit the configuration; the message names the tensor and what was expected
//   UNIMPLEMENTED     it asks for shared memory
Result<ValidRequest> ValidateRequest(const ModelConfig& config, const WireRequest& request);

}  // namespace ferry

#endif  // FERRY_FRONTEND_REQUEST_VALIDATOR_H_
