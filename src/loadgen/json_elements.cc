#include "loadgen/json_elements.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/strings.h"
#include "loadgen/half_precision.h"
#include "loadgen/named_tensor.h"

namespace ferry {

namespace {

using Json = nlohmann::json;

template <typename Value>
bool Append(Value value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return true;
}

template <typename Integer>
bool AppendInteger(const Json& value, std::string& bytes) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return std::in_range<Integer>(number) && Append(static_cast<Integer>(number), bytes);
  }
  if (!value.is_number_integer()) return false;
  const auto number = value.get<int64_t>();
  return std::in_range<Integer>(number) && Append(static_cast<Integer>(number), bytes);
}

bool AppendBool(const Json& value, std::string& bytes) {
  if (value.is_boolean()) return Append(static_cast<uint8_t>(value.get<bool>()), bytes);
  return (value == 0 || value == 1) && Append(static_cast<uint8_t>(value == 1), bytes);
}

// `largest` is the largest finite value of the type, up to rounding.
template <typename Store>
bool AppendFloat(const Json& value, double largest, Store store, std::string& bytes) {
  return value.is_number() && std::abs(value.get<double>()) <= largest && Append(store(value.get<double>()), bytes);
}

bool AppendString(const Json& value, std::string& bytes) {
  if (!value.is_string()) return false;
  AppendBytesElement(value.get_ref<const std::string&>(), bytes);
  return true;
}

bool AppendElement(DataType type, const Json& value, std::string& bytes) {
  switch (type) {
    case DataType::kBool:
      return AppendBool(value, bytes);
    case DataType::kUint8:
      return AppendInteger<uint8_t>(value, bytes);
    case DataType::kUint16:
      return AppendInteger<uint16_t>(value, bytes);
    case DataType::kUint32:
      return AppendInteger<uint32_t>(value, bytes);
    case DataType::kUint64:
      return AppendInteger<uint64_t>(value, bytes);
    case DataType::kInt8:
      return AppendInteger<int8_t>(value, bytes);
    case DataType::kInt16:
      return AppendInteger<int16_t>(value, bytes);
    case DataType::kInt32:
      return AppendInteger<int32_t>(value, bytes);
    case DataType::kInt64:
      return AppendInteger<int64_t>(value, bytes);
    case DataType::kFp16:
      return AppendFloat(value, 65504, Fp16FromFloat, bytes);
    case DataType::kBf16:
      return AppendFloat(value, FloatFromBf16(0x7f7f), Bf16FromFloat, bytes);
    case DataType::kFp32:
      return AppendFloat(
          value, std::numeric_limits<float>::max(), [](double number) { return static_cast<float>(number); }, bytes);
    case DataType::kFp64:
      return AppendFloat(
          value, std::numeric_limits<double>::max(), [](double number) { return number; }, bytes);
    case DataType::kBytes:
      return AppendString(value, bytes);
    case DataType::kInvalid:
      break;
  }
  return false;
}

// The six bits of a character; 64 for none.
uint32_t Base64Digit(char c) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t digit = kDigits.find(c);
  return digit == std::string_view::npos ? 64 : static_cast<uint32_t>(digit);
}

}  // namespace

Status AppendElements(DataType type, const Json& array, std::string& bytes) {
  for (const Json& value : array) {
    if (value.is_array()) {
      FERRY_RETURN_IF_ERROR(AppendElements(type, value, bytes));
    } else if (!AppendElement(type, value, bytes)) {
      // Strings that are not UTF-8 would make dump() throw.
      const std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
      return InvalidArgumentError(StrCat(Printable(shown, 64), " is no value of ", DataTypeName(type)));
    }
  }
  return {};
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  for (; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;  // of bits not yet written
  for (const char c : text) {
    const uint32_t digit = Base64Digit(c);
    if (digit == 64) return std::nullopt;
    bits = (bits << 6) | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return bytes;
}

}  // namespace ferry
