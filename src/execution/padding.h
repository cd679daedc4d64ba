#ifndef FERRY_EXECUTION_PADDING_H_
#define FERRY_EXECUTION_PADDING_H_

#include "ferry/model_config.h"

namespace ferry {

// How an input is padded; nullptr if it is not.
const Padding::Input* FindPadding(const ModelConfig& config, size_t input);

// The shape of an input in an execution: the extents that are padded rounded up.
Shape PaddedShape(const ModelConfig& config, size_t input, Shape shape);

// Repeats `element` all over `out`, whose size is a multiple of the element's.
void Fill(std::span<std::byte> out, Bytes element);

// Copies the elements whose indexes lie below `extents` from one dense tensor into another.
// REQUIRES: all three have the same number of extents; none of `extents` is larger than the tensors'.
struct BlockCopy {
  std::byte* to = nullptr;
  std::span<const int64_t> to_shape;
  const std::byte* from = nullptr;
  std::span<const int64_t> from_shape;
  std::span<const int64_t> extents;
  size_t element_size = 0;
};
void CopyBlock(const BlockCopy& copy);

}  // namespace ferry

#endif  // FERRY_EXECUTION_PADDING_H_
