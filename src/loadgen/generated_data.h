#ifndef FERRY_LOADGEN_GENERATED_DATA_H_
#define FERRY_LOADGEN_GENERATED_DATA_H_

#include <vector>

#include "ferry/status.h"
#include "loadgen/named_tensor.h"
#include "loadgen/request_data_options.h"

namespace ferry {

// One step whose inputs are all zero; elements of BYTES are empty. Optional inputs are left out unless the options have a
// shape or a range for them. REQUIRES, as below: options.batch_size >= 1, options.string_length >= 0.
Result<std::vector<DataStep>> ZeroSteps(const ModelDescription& model, const RequestDataOptions& options);

// Steps for as many random requests as the options ask for; the same for the same seed.
//
// Errors: INVALID_ARGUMENT when a shape stays open, or when a range does not fit the type of its input.
Result<std::vector<DataStep>> RandomSteps(const ModelDescription& model, const RequestDataOptions& options);

}  // namespace ferry

#endif  // FERRY_LOADGEN_GENERATED_DATA_H_
