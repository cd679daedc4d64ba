#include "execution/padding.h"

#include <algorithm>
#include <cstring>

namespace ferry {

const Padding::Input* FindPadding(const ModelConfig& config, size_t input) {
  if (!config.padding) return nullptr;
  const auto& inputs = config.padding->inputs;
  const auto found = std::ranges::find(inputs, input, &Padding::Input::input);
  return found == inputs.end() ? nullptr : &*found;
}

Shape PaddedShape(const ModelConfig& config, size_t input, Shape shape) {
  if (const Padding::Input* padding = FindPadding(config, input)) {
    for (const size_t dim : padding->dims) shape[dim + 1] = config.padding->RoundUp(shape[dim + 1]);
  }
  return shape;
}

void Fill(std::span<std::byte> out, Bytes element) {
  if (std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; })) {
    std::ranges::fill(out, std::byte{0});
    return;
  }
  for (size_t i = 0; i < out.size(); i += element.size())
    std::ranges::copy(element, out.begin() + static_cast<ptrdiff_t>(i));
}

void CopyBlock(const BlockCopy& copy) {
  // From the first extent on in which nothing is left out, the rest is one piece.
  const bool whole = std::ranges::equal(copy.to_shape.subspan(std::min<size_t>(1, copy.to_shape.size())),
                                        copy.extents.subspan(std::min<size_t>(1, copy.extents.size()))) &&
                     std::ranges::equal(copy.from_shape.subspan(std::min<size_t>(1, copy.from_shape.size())),
                                        copy.extents.subspan(std::min<size_t>(1, copy.extents.size())));
  const auto size_of = [&](std::span<const int64_t> shape) {
    size_t bytes = copy.element_size;
    for (const int64_t extent : shape) bytes *= static_cast<size_t>(extent);
    return bytes;
  };
  if (whole) {
    if (const size_t bytes = size_of(copy.extents); bytes > 0) std::memcpy(copy.to, copy.from, bytes);
    return;
  }
  const size_t to_step = size_of(copy.to_shape.subspan(1));
  const size_t from_step = size_of(copy.from_shape.subspan(1));
  BlockCopy inner{
      copy.to,          copy.to_shape.subspan(1), copy.from, copy.from_shape.subspan(1), copy.extents.subspan(1),
      copy.element_size};
  for (int64_t i = 0; i < copy.extents.front(); ++i) {
    CopyBlock(inner);
    inner.to += to_step;
    inner.from += from_step;
  }
}

}  // namespace ferry
