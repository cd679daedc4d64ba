#include "loadgen/tensor_elements.h"

#include <charconv>
#include <cstring>
#include <type_traits>

#include "base/strings.h"
#include "loadgen/half_precision.h"

namespace ferry {

namespace {

template <typename Value>
Value Load(const NamedTensor& tensor, int64_t index) {
  Value value;
  std::memcpy(&value, tensor.bytes.data() + static_cast<size_t>(index) * sizeof(Value), sizeof(Value));
  return value;
}

// Calls `use` with the element in the type that C++ has for it.
template <typename Use>
auto WithElement(const NamedTensor& tensor, int64_t index, Use use) {
  switch (tensor.type) {
    case DataType::kBool:
    case DataType::kUint8:
      return use(Load<uint8_t>(tensor, index));
    case DataType::kUint16:
      return use(Load<uint16_t>(tensor, index));
    case DataType::kUint32:
      return use(Load<uint32_t>(tensor, index));
    case DataType::kUint64:
      return use(Load<uint64_t>(tensor, index));
    case DataType::kInt8:
      return use(Load<int8_t>(tensor, index));
    case DataType::kInt16:
      return use(Load<int16_t>(tensor, index));
    case DataType::kInt32:
      return use(Load<int32_t>(tensor, index));
    case DataType::kInt64:
      return use(Load<int64_t>(tensor, index));
    case DataType::kFp16:
      return use(FloatFromFp16(Load<uint16_t>(tensor, index)));
    case DataType::kBf16:
      return use(FloatFromBf16(Load<uint16_t>(tensor, index)));
    case DataType::kFp32:
      return use(Load<float>(tensor, index));
    case DataType::kFp64:
      return use(Load<double>(tensor, index));
    case DataType::kBytes:
    case DataType::kInvalid:
      break;
  }
  FERRY_CHECK(false, "the element is a number");
  return use(uint8_t{0});
}

}  // namespace

double ElementAsDouble(const NamedTensor& tensor, int64_t index) {
  return WithElement(tensor, index, [](auto value) { return static_cast<double>(value); });
}

std::string ElementAsText(const NamedTensor& tensor, int64_t index) {
  if (tensor.type == DataType::kBytes) return Quoted((*BytesElements(tensor.bytes))[static_cast<size_t>(index)]);
  return WithElement(tensor, index, [](auto value) {
    char text[32];
    return std::string(text, std::to_chars(text, std::end(text), value).ptr);
  });
}

std::string IndexToString(std::span<const int64_t> shape, int64_t index) {
  Shape place(shape.size());
  for (size_t i = shape.size(); i > 0; --i) {
    place[i - 1] = index % shape[i - 1];
    index /= shape[i - 1];
  }
  return StrCat("[", StrJoin(place, ","), "]");
}

}  // namespace ferry
