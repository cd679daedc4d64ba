#include "execution/padding.h"

#include <algorithm>

namespace ferry {

namespace {

size_t Product(std::span<const int64_t> shape) {
  size_t product = 1;
  for (const int64_t extent : shape) product *= static_cast<size_t>(extent);
  return product;
}

void VisitRuns(std::span<const int64_t> whole, std::span<const int64_t> part, size_t offset, const RunVisitor& visit) {
  // Where nothing is left out below the first extent, all of it is one run.
  if (whole.size() < 2 || std::ranges::equal(whole.subspan(1), part.subspan(1))) {
    if (const size_t count = Product(part); count > 0) visit(offset, count);
    return;
  }
  const size_t step = Product(whole.subspan(1));
  for (int64_t i = 0; i < part.front(); ++i) {
    VisitRuns(whole.subspan(1), part.subspan(1), offset + static_cast<size_t>(i) * step, visit);
  }
}

}  // namespace

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

void ForEachRun(std::span<const int64_t> whole, std::span<const int64_t> part, const RunVisitor& visit) {
  VisitRuns(whole, part, 0, visit);
}

}  // namespace ferry
