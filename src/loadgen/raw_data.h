#ifndef FERRY_LOADGEN_RAW_DATA_H_
#define FERRY_LOADGEN_RAW_DATA_H_

#include <string>
#include <vector>

#include "ferry/status.h"
#include "loadgen/named_tensor.h"

namespace ferry {

// All of a file. Errors: NOT_FOUND when it cannot be read.
Result<std::string> ReadFile(const std::string& path);

// Reads one step from a folder with a file for each input, of the input's name: its raw contents for one row,
// little-endian; of BYTES, a line of text for each element. A file of an output's name holds what that should be.
//
// Errors: NOT_FOUND when the file of an input that is not optional cannot be read; INVALID_ARGUMENT when its size is not
//         that of one row.
Result<DataStep> ReadRawStep(const std::string& folder, const ModelDescription& model, const ShapesByName& shapes);

}  // namespace ferry

#endif  // FERRY_LOADGEN_RAW_DATA_H_
