#include "frontend/request_parameters.h"

#include "base/strings.h"
#include "ferry/clock.h"

namespace ferry {

namespace {

constexpr std::string_view kReserved = "triton_";
constexpr std::string_view kSharedMemory = "shared_memory_";

Status WrongType(std::string_view name, std::string_view expected) {
  return InvalidArgumentError(StrCat("invalid value type for '", name, "' parameter, expected ", expected));
}

Result<uint64_t> ReadUnsigned(const WireParameter& parameter) {
  if (const uint64_t* number = std::get_if<uint64_t>(&parameter.value)) return *number;
  const int64_t* number = std::get_if<int64_t>(&parameter.value);
  if (number == nullptr) return WrongType(parameter.name, "int64_param or uint64_param");
  if (*number >= 0) return static_cast<uint64_t>(*number);
  return InvalidArgumentError(StrCat("invalid value ", *number, " for '", parameter.name, "' parameter: must be >= 0"));
}

Status CheckParameter(const WireParameter& parameter) {
  const WireValue& value = parameter.value;
  if (parameter.name == "sequence_id") {
    const bool fits = std::holds_alternative<int64_t>(value) || std::holds_alternative<std::string_view>(value);
    return fits ? Status() : WrongType(parameter.name, "int64_param or string_param");
  }
  if (parameter.name == "sequence_start" || parameter.name == "sequence_end" ||
      parameter.name == "triton_enable_empty_final_response") {
    return std::holds_alternative<bool>(value) ? Status() : WrongType(parameter.name, "bool_param");
  }
  if (parameter.name.starts_with(kReserved)) {
    return InvalidArgumentError(
        StrCat("parameter ", Quoted(parameter.name), ": names that start with '", kReserved, "' are reserved"));
  }
  if (std::holds_alternative<uint64_t>(value) || std::holds_alternative<std::monostate>(value)) {
    return InvalidArgumentError(StrCat("invalid value type for ", Quoted(parameter.name),
                                       " parameter, expected int64_param, bool_param, double_param or string_param"));
  }
  return Status();
}

Status RefuseSharedMemory(std::string_view kind, std::string_view tensor, std::span<const WireParameter> parameters) {
  for (const WireParameter& parameter : parameters) {
    if (parameter.name.starts_with(kSharedMemory)) {
      return UnimplementedError(StrCat(kind, " ", Quoted(tensor), ": shared memory is not supported by this server"));
    }
  }
  return Status();
}

}  // namespace

Result<QueueParameters> ReadRequestParameters(std::span<const WireParameter> parameters) {
  QueueParameters queue;
  for (const WireParameter& parameter : parameters) {
    if (parameter.name != "priority" && parameter.name != "timeout") {
      FERRY_RETURN_IF_ERROR(CheckParameter(parameter));
      continue;
    }
    const Result<uint64_t> number = ReadUnsigned(parameter);
    if (!number.ok()) return number.status();
    if (parameter.name == "priority") {
      queue.priority = *number;
    } else {
      queue.timeout = BoundedMicroseconds(*number);
    }
  }
  return queue;
}

Status CheckInputParameters(const WireInput& input) {
  return RefuseSharedMemory("input", input.name, input.parameters);
}

Result<int64_t> ReadOutputParameters(const WireOutput& output) {
  FERRY_RETURN_IF_ERROR(RefuseSharedMemory("output", output.name, output.parameters));
  for (const WireParameter& parameter : output.parameters) {
    if (parameter.name != "classification") continue;
    const int64_t* classes = std::get_if<int64_t>(&parameter.value);
    if (classes == nullptr) return WrongType("classification", "int64_param");
    if (*classes < 1) {
      return InvalidArgumentError(
          StrCat("invalid value ", *classes, " for 'classification' parameter: must be at least 1"));
    }
    return *classes;
  }
  return int64_t{0};
}

Status CheckClassifiable(const TensorConfig& output) {
  if (output.type != DataType::kFp16 && output.type != DataType::kBf16 && output.type != DataType::kBool) {
    return Status();
  }
  return InvalidArgumentError(
      StrCat("class result not available for output '", output.name, "' due to type ", DataTypeName(output.type)));
}

}  // namespace ferry
