#ifndef FERRY_FRONTEND_WIRE_REQUEST_H_
#define FERRY_FRONTEND_WIRE_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ferry/tensor.h"

namespace ferry {

// An infer call as it came over the wire, before anything about it is believed: the same for every protocol, so that
// one validator serves them all. Everything borrows from the message it was read from.

// monostate: the parameter had no value at all.
using WireValue = std::variant<std::monostate, bool, int64_t, std::string_view, double, uint64_t>;

struct WireParameter {
  std::string_view name;
  WireValue value;
};

struct WireInput {
  std::string_view name;
  std::string_view datatype;
  Shape shape;
  std::vector<WireParameter> parameters;
  BytePieces data;
  // Why there is no data, if there is none: not given, given twice, of another type than declared.
  Status data_status;
};

struct WireOutput {
  std::string_view name;
  std::vector<WireParameter> parameters;
};

struct WireRequest {
  std::vector<WireParameter> parameters;
  std::vector<WireInput> inputs;
  std::vector<WireOutput> outputs;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_WIRE_REQUEST_H_
