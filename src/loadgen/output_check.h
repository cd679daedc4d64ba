#ifndef FERRY_LOADGEN_OUTPUT_CHECK_H_
#define FERRY_LOADGEN_OUTPUT_CHECK_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/status.h"
#include "loadgen/named_tensor.h"

namespace inference {
class ModelInferResponse;
}  // namespace inference

namespace ferry {

// When an output counts as what it should be.
struct OutputComparison {
  enum class Kind {
    kExact,      // the same bytes
    kTolerance,  // floats differ by at most `absolute` + `relative` * |expected|; other types not at all
    kArgmax,     // the greatest element of each row of the last dimension is at the same place; BYTES are the same
  };
  Kind kind = Kind::kExact;
  double relative = 0;
  double absolute = 0;
};

// "exact", "tolerance:RELATIVE", "tolerance:RELATIVE,ABSOLUTE" or "argmax".
Result<OutputComparison> ParseOutputComparison(std::string_view text);

// The outputs of an answer as raw contents, whether the server sent them so or as typed ones.
//
// Errors: INTERNAL when the answer does not fit together: no contents, an unknown datatype, a size that is not the shape's.
Result<std::vector<NamedTensor>> OutputsOf(const inference::ModelInferResponse& response);

// The first difference between the outputs that are expected and the actual ones, for a person: "output 'y' [0,3]: 2 instead
// of 3"; nothing when there is none. Outputs that are not expected do not matter. What a request was answered when it was
// alone (OutputsOf) serves as the expectation of what it is answered under load. REQUIRES: all
// tensors are made of whole elements, as OutputsOf() and the readers of data give them.
std::optional<std::string> FindDifference(const std::vector<NamedTensor>& expected,
                                          const std::vector<NamedTensor>& actual, const OutputComparison& comparison);

}  // namespace ferry

#endif  // FERRY_LOADGEN_OUTPUT_CHECK_H_
