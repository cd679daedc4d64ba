#include "execution/batch_inputs.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ferry {

namespace {

template <typename Element>
void Write(std::span<const int64_t> values, std::span<std::byte> out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto element = static_cast<Element>(values[i]);
    std::memcpy(out.data() + i * sizeof(element), &element, sizeof(element));
  }
}

std::vector<int64_t> ElementCounts(const BatchInput& input, const Batch& batch) {
  std::vector<int64_t> counts;
  for (const auto& request : batch.requests) counts.push_back(*ElementCount(request->inputs[input.source].shape));
  return counts;
}

// The extents of each row's item, one row after the other.
BatchInputContent ItemShapes(const BatchInput& input, const Batch& batch) {
  BatchInputContent content;
  int64_t rank = 0;
  for (const auto& request : batch.requests) {
    const Shape& shape = request->inputs[input.source].shape;
    rank = static_cast<int64_t>(shape.size()) - 1;
    for (int64_t row = 0; row < request->rows; ++row) {
      content.values.insert(content.values.end(), shape.begin() + 1, shape.end());
    }
  }
  content.shape = {batch.rows, rank};
  return content;
}

}  // namespace

BatchInputContent ContentOf(const BatchInput& input, const Batch& batch) {
  using Kind = BatchInput::Kind;
  if (input.kind == Kind::kItemShape) return ItemShapes(input, batch);
  std::vector<int64_t> values;
  if (input.kind == Kind::kItemShapeFlatten) {
    values = ItemShapes(input, batch).values;
  } else {
    values = ElementCounts(input, batch);
  }
  if (input.kind == Kind::kMaxElementCountAsShape) return {{std::ranges::max(values)}, {}};
  if (input.kind == Kind::kAccumulatedElementCount || input.kind == Kind::kAccumulatedElementCountWithZero) {
    std::partial_sum(values.begin(), values.end(), values.begin());
  }
  if (input.kind == Kind::kAccumulatedElementCountWithZero) values.insert(values.begin(), 0);
  return {{static_cast<int64_t>(values.size())}, std::move(values)};
}

void WriteAs(DataType type, std::span<const int64_t> values, std::span<std::byte> out) {
  switch (type) {
    case DataType::kInt32:
      return Write<int32_t>(values, out);
    case DataType::kFp32:
      return Write<float>(values, out);
    default:
      return Write<int64_t>(values, out);
  }
}

}  // namespace ferry
