#include "execution/batch_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "execution/reshape.h"

namespace ferry {

namespace {

// A cache line, and what vector instructions and oneDNN like.
constexpr std::align_val_t kAlignment{64};

std::shared_ptr<std::byte> AllocateAligned(size_t bytes) {
  return {static_cast<std::byte*>(::operator new(bytes, kAlignment)),
          [](std::byte* memory) { ::operator delete(memory, kAlignment); }};
}

}  // namespace

BatchBuffer::BatchBuffer(const ModelConfig& config)
    : config_(config), blocks_(config.inputs.size()), views_(config.inputs.size()) {
  for (size_t i = 0; i < config.inputs.size(); ++i) {
    Shape full = config.inputs[i].dims;
    full.insert(full.begin(), config.max_rows());
    const std::optional<int64_t> bytes = ByteSize(config.inputs[i].type, full);
    // Variable extents have no size yet.
    if (bytes) Reserve(blocks_[i], static_cast<size_t>(*bytes));
  }
}

void BatchBuffer::Reserve(Block& block, size_t bytes) {
  if (block.memory && bytes <= block.capacity) return;
  block.capacity = std::max({bytes, block.capacity * 2, size_t{64}});
  block.memory.reset();  // first, so that the old block and the new one are never held together
  block.memory = AllocateAligned(block.capacity);
}

Bytes BatchBuffer::GatherInput(const Batch& batch, size_t input) {
  size_t bytes = 0;
  for (const auto& request : batch.requests) bytes += request->inputs[input].bytes.size();
  Block& block = blocks_[input];
  Reserve(block, bytes);
  std::byte* out = block.memory.get();
  for (const auto& request : batch.requests) {
    const Bytes rows = request->inputs[input].bytes;
    if (!rows.empty()) std::memcpy(out, rows.data(), rows.size());
    out += rows.size();
  }
  return {block.memory.get(), bytes};
}

std::span<const TensorView> BatchBuffer::Gather(const Batch& batch) {
  const InferRequest& first = *batch.requests.front();
  for (size_t i = 0; i < views_.size(); ++i) {
    TensorView& view = views_[i];
    view.type = first.inputs[i].type;
    view.shape = ReshapeForModel(config_.inputs[i], config_.batches(), first.inputs[i].shape);
    if (config_.batches()) view.shape.front() = batch.rows;
    view.bytes = GatherInput(batch, i);
  }
  return views_;
}

}  // namespace ferry
