#ifndef FERRY_LOADGEN_JSON_ELEMENTS_H_
#define FERRY_LOADGEN_JSON_ELEMENTS_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ferry/status.h"
#include "ferry/tensor.h"

namespace ferry {

// Appends the raw contents of all elements of `array`, in order and out of arrays in it, to `bytes`.
//
// Errors: INVALID_ARGUMENT when an element is no value of the type; the message shows it.
Status AppendElements(DataType type, const nlohmann::json& array, std::string& bytes);

// The bytes that `text` stands for; nothing when it is not base64 with its padding.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace ferry

#endif  // FERRY_LOADGEN_JSON_ELEMENTS_H_
