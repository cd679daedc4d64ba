#ifndef FERRY_TESTS_SUPPORT_INFER_ORACLE_H_
#define FERRY_TESTS_SUPPORT_INFER_ORACLE_H_

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "frontend/wire/infer_parser.h"

namespace ferry {

// Protobuf's generated class as the judge of our parser.

inline std::string Joined(const BytePieces& bytes) {
  std::string joined(bytes.size(), '\0');
  PieceReader(bytes).Read(reinterpret_cast<std::byte*>(joined.data()), joined.size());
  return joined;
}

inline bool Same(const inference::InferParameter& expected, const WireValue& value) {
  using Choice = inference::InferParameter::ParameterChoiceCase;
  switch (expected.parameter_choice_case()) {
    case Choice::kBoolParam:
      return value == WireValue(expected.bool_param());
    case Choice::kInt64Param:
      return value == WireValue(int64_t{expected.int64_param()});
    case Choice::kStringParam:
      return value == WireValue(std::string_view(expected.string_param()));
    case Choice::kDoubleParam:
      return value == WireValue(expected.double_param()) ||
             (std::isnan(expected.double_param()) && std::isnan(std::get<double>(value)));
    case Choice::kUint64Param:
      return value == WireValue(uint64_t{expected.uint64_param()});
    case Choice::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return std::holds_alternative<std::monostate>(value);
}

template <typename Map>
bool Same(const Map& expected, const std::vector<WireParameter>& parameters) {
  if (expected.size() != parameters.size()) return false;
  for (const WireParameter& parameter : parameters) {
    const auto found = expected.find(std::string(parameter.name));
    if (found == expected.end() || !Same(found->second, parameter.value)) return false;
  }
  return true;
}

inline bool Same(const inference::ModelInferRequest::InferInputTensor& expected,
                 const ParsedInferRequest::Input& input) {
  const Shape shape(expected.shape().begin(), expected.shape().end());
  const std::string contents = input.contents ? input.contents->SerializeAsString() : "";
  return expected.name() == input.name && expected.datatype() == input.datatype && shape == input.shape &&
         Same(expected.parameters(), input.parameters) && expected.has_contents() == input.contents.has_value() &&
         expected.contents().SerializeAsString() == contents;
}

inline bool Same(const inference::ModelInferRequest& expected, const ParsedInferRequest& parsed) {
  if (expected.model_name() != parsed.model_name || expected.model_version() != parsed.model_version ||
      expected.id() != parsed.id || !Same(expected.parameters(), parsed.parameters) ||
      static_cast<size_t>(expected.inputs_size()) != parsed.inputs.size() ||
      static_cast<size_t>(expected.outputs_size()) != parsed.outputs.size() ||
      static_cast<size_t>(expected.raw_input_contents_size()) != parsed.raw_contents.size()) {
    return false;
  }
  for (int i = 0; i < expected.inputs_size(); ++i) {
    if (!Same(expected.inputs(i), parsed.inputs[static_cast<size_t>(i)])) return false;
  }
  for (int i = 0; i < expected.outputs_size(); ++i) {
    const WireOutput& output = parsed.outputs[static_cast<size_t>(i)];
    if (expected.outputs(i).name() != output.name || !Same(expected.outputs(i).parameters(), output.parameters)) {
      return false;
    }
  }
  for (int i = 0; i < expected.raw_input_contents_size(); ++i) {
    if (expected.raw_input_contents(i) != Joined(parsed.raw_contents[static_cast<size_t>(i)])) return false;
  }
  return true;
}

// What is wrong with `parsed` as an answer to `message`; empty if nothing is. Ours may accept what protobuf does not, and
// refuse what has thousands of entries; else both must understand the same.
inline std::string Disagreement(const std::string& message, const Result<ParsedInferRequest>& parsed) {
  inference::ModelInferRequest expected;
  if (!expected.ParseFromString(message)) return "";
  if (!parsed.ok()) {
    const bool bounded = parsed.status().message().find("more than") != std::string::npos;
    return bounded ? "" : "protobuf accepts it: " + expected.DebugString();
  }
  return Same(expected, *parsed) ? "" : "protobuf reads: " + expected.DebugString();
}

// Pieces that end where `pick(limit)`, a number below its limit, says. They are memory of their own, so that a sanitizer
// sees a step beyond one.
template <typename Pick>
std::vector<std::string> CutAtRandom(const std::string& message, const Pick& pick) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < message.size();) {
    const size_t size = pick(message.size() - at + 1);
    pieces.push_back(message.substr(at, size));
    at += size;
  }
  return pieces;
}

inline std::vector<Bytes> AsPieces(const std::vector<std::string>& parts) {
  std::vector<Bytes> pieces;
  for (const std::string& part : parts) pieces.push_back(std::as_bytes(std::span(part)));
  return pieces;
}

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_INFER_ORACLE_H_
