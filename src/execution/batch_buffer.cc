#include "execution/batch_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/strings.h"
#include "execution/reshape.h"

namespace ferry {

namespace {

// A cache line, and what vector instructions and oneDNN like.
constexpr std::align_val_t kAlignment{64};

// Null when there is no memory.
std::shared_ptr<std::byte> AllocateAligned(size_t bytes) {
  void* memory = ::operator new(bytes, kAlignment, std::nothrow);
  if (memory == nullptr) return nullptr;
  return {static_cast<std::byte*>(memory), [](std::byte* block) { ::operator delete(block, kAlignment); }};
}

}  // namespace

BatchBuffer::BatchBuffer(const ModelConfig& config)
    : config_(config), blocks_(config.inputs.size()), views_(config.inputs.size()) {
  for (size_t i = 0; i < config.inputs.size(); ++i) {
    Shape full = config.inputs[i].dims;
    full.insert(full.begin(), config.max_rows());
    const std::optional<int64_t> bytes = ByteSize(config.inputs[i].type, full);
    // Variable extents have no size yet. If there is no memory now, Gather() says so.
    if (bytes) (void)Reserve(blocks_[i], static_cast<size_t>(*bytes));
  }
}

Status BatchBuffer::Reserve(Block& block, size_t bytes) {
  if (block.memory && bytes <= block.capacity) return Status();
  const size_t capacity = std::max({bytes, block.capacity * 2, size_t{64}});
  block = {};  // first, so that the old block and the new one are never held together
  block.memory = AllocateAligned(capacity);
  if (!block.memory) return ResourceExhaustedError(StrCat("no memory for a batch buffer of ", capacity, " bytes"));
  block.capacity = capacity;
  return Status();
}

Result<Bytes> BatchBuffer::GatherInput(const Batch& batch, size_t input) {
  size_t bytes = 0;
  for (const auto& request : batch.requests) bytes += request->inputs[input].bytes.size();
  Block& block = blocks_[input];
  FERRY_RETURN_IF_ERROR(Reserve(block, bytes));
  std::byte* out = block.memory.get();
  for (const auto& request : batch.requests) {
    const Bytes rows = request->inputs[input].bytes;
    if (!rows.empty()) std::memcpy(out, rows.data(), rows.size());
    out += rows.size();
  }
  return Bytes(block.memory.get(), bytes);
}

Result<std::span<const TensorView>> BatchBuffer::Gather(const Batch& batch) {
  const InferRequest& first = *batch.requests.front();
  for (size_t i = 0; i < views_.size(); ++i) {
    TensorView& view = views_[i];
    view.type = first.inputs[i].type;
    view.shape = ReshapeForModel(config_.inputs[i], config_.batches(), first.inputs[i].shape);
    if (config_.batches()) view.shape.front() = batch.rows;
    Result<Bytes> bytes = GatherInput(batch, i);
    if (!bytes.ok()) return bytes.status();
    view.bytes = *bytes;
  }
  return std::span<const TensorView>(views_);
}

}  // namespace ferry
