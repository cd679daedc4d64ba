#ifndef FERRY_EXECUTION_PADDING_H_
#define FERRY_EXECUTION_PADDING_H_

#include <functional>

#include "ferry/model_config.h"

namespace ferry {

// How an input is padded; nullptr if it is not.
const Padding::Input* FindPadding(const ModelConfig& config, size_t input);

// The shape of an input in an execution: the extents that are padded rounded up.
Shape PaddedShape(const ModelConfig& config, size_t input, Shape shape);

// Repeats `element` all over `out`, whose size is a multiple of the element's.
void Fill(std::span<std::byte> out, Bytes element);

// Visits the elements of a dense tensor of shape `whole` whose indexes lie below the extents of `part`: in order, as runs of
// elements that lie behind each other. Their offsets and lengths are in elements.
// REQUIRES: both shapes have the same number of extents; none of `part` is larger.
using RunVisitor = std::function<void(size_t offset, size_t count)>;
void ForEachRun(std::span<const int64_t> whole, std::span<const int64_t> part, const RunVisitor& visit);

}  // namespace ferry

#endif  // FERRY_EXECUTION_PADDING_H_
