#include "frontend/classification.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/strings.h"

namespace ferry {

namespace {

// Triton's bound.
constexpr int64_t kMostElements = 1'000'000;

void AppendElement(const std::string& text, std::string* bytes) {
  const auto length = static_cast<uint32_t>(text.size());
  bytes->append(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes->append(text);
}

// NaN comes last: with it, operator> alone is no ordering.
template <typename Value>
bool Precedes(Value a, Value b) {
  if (a != a) return false;
  return b != b || a > b;
}

template <typename Value>
void AppendTop(const TensorConfig& config, Bytes row, size_t top, std::string* bytes) {
  std::vector<Value> values(row.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), row.data(), row.size());
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(top), order.end(), [&](size_t a, size_t b) {
    if (Precedes(values[a], values[b])) return true;
    return !Precedes(values[b], values[a]) && a < b;
  });
  for (size_t i = 0; i < top; ++i) {
    std::string text = StrCat(std::to_string(values[order[i]]), ":", order[i]);
    if (order[i] < config.labels.size()) text += ":" + config.labels[order[i]];
    AppendElement(text, bytes);
  }
}

void AppendTopOf(const TensorConfig& config, Bytes row, size_t top, std::string* bytes) {
  switch (config.type) {
    case DataType::kUint8:
      return AppendTop<uint8_t>(config, row, top, bytes);
    case DataType::kUint16:
      return AppendTop<uint16_t>(config, row, top, bytes);
    case DataType::kUint32:
      return AppendTop<uint32_t>(config, row, top, bytes);
    case DataType::kUint64:
      return AppendTop<uint64_t>(config, row, top, bytes);
    case DataType::kInt8:
      return AppendTop<int8_t>(config, row, top, bytes);
    case DataType::kInt16:
      return AppendTop<int16_t>(config, row, top, bytes);
    case DataType::kInt32:
      return AppendTop<int32_t>(config, row, top, bytes);
    case DataType::kInt64:
      return AppendTop<int64_t>(config, row, top, bytes);
    case DataType::kFp64:
      return AppendTop<double>(config, row, top, bytes);
    default:
      return AppendTop<float>(config, row, top, bytes);
  }
}

}  // namespace

Result<Tensor> Classify(const TensorConfig& config, bool batches, const Tensor& output, int64_t top) {
  const int64_t elements = ElementCount(output.shape).value_or(kMostElements + 1);
  if (elements > kMostElements) {
    return InvalidArgumentError(StrCat("class result not available for output '", config.name, "': it has ", elements,
                                       " elements, at most ", kMostElements, " are sorted"));
  }
  const int64_t rows = batches ? std::max<int64_t>(output.shape.front(), 1) : 1;
  const int64_t count = std::min(top, elements / rows);
  auto bytes = std::make_shared<std::string>();
  const size_t row_bytes = output.bytes.size() / static_cast<size_t>(rows);
  for (int64_t row = 0; row < rows; ++row) {
    AppendTopOf(config, output.bytes.subspan(static_cast<size_t>(row) * row_bytes, row_bytes),
                static_cast<size_t>(count), bytes.get());
  }
  Shape shape = batches ? Shape{rows, count} : Shape{count};
  const Bytes view(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size());
  return Tensor{DataType::kBytes, std::move(shape), view, std::move(bytes)};
}

}  // namespace ferry
