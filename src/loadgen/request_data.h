#ifndef FERRY_LOADGEN_REQUEST_DATA_H_
#define FERRY_LOADGEN_REQUEST_DATA_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ferry/status.h"
#include "loadgen/model_description.h"
#include "loadgen/named_tensor.h"
#include "loadgen/request_data_options.h"

namespace ferry {

// PreparedRequest is a request that is sent many times, written once. What differs between sends is a message of its own,
// and the bytes of the two one after the other are one message with the fields of both, as protobuf promises.
struct PreparedRequest {
  std::string message;     // an inference.ModelInferRequest without an id
  std::string class_name;  // of the mix
  int64_t rows = 1;
  std::vector<NamedTensor> expected;  // outputs that are known, with their batch dimension
};

// Makes the different requests of a run. The batch size is put in front of each shape, once.
//
// Errors: INVALID_ARGUMENT or NOT_FOUND, for what the options ask of this model and it has not, and for faults of the data.
Result<std::vector<PreparedRequest>> MakeRequests(const ModelDescription& model, const RequestDataOptions& options);

// Requests of these steps of data, each used as often as the others.
// REQUIRES: steps is not empty.
Result<std::vector<PreparedRequest>> RequestsOfSteps(const ModelDescription& model, const RequestDataOptions& options,
                                                     const std::vector<DataStep>& steps);

// The piece that gives a request this id, in decimal digits. Does not allocate for numbers of up to 13 digits.
std::string IdPiece(uint64_t id);

// The piece that gives a request a priority, a time limit at the server (to the microsecond), both or neither.
std::string QueuePiece(std::optional<uint64_t> priority, std::optional<std::chrono::microseconds> timeout);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REQUEST_DATA_H_
