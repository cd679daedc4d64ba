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

// Copies and returns where the next bytes go.
std::byte* Append(std::byte* out, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
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

Status BatchBuffer::GatherInput(const Batch& batch, size_t input, GatheredInputs* gathered) {
  const TensorView& first = batch.requests.front()->inputs[input];
  TensorView& view = views_[input];
  view.type = first.type;
  view.shape = ReshapeForModel(config_.inputs[input], config_.batches(), first.shape);
  if (config_.batches()) view.shape.front() = gathered->rows;
  const auto bytes = static_cast<size_t>(*ByteSize(view.type, view.shape));
  FERRY_RETURN_IF_ERROR(Reserve(blocks_[input], bytes));
  std::byte* out = blocks_[input].memory.get();
  for (const auto& request : batch.requests) out = Append(out, request->inputs[input].bytes);
  const Bytes real(blocks_[input].memory.get(), out);
  const Bytes last_row = real.last(real.size() / static_cast<size_t>(batch.rows));
  for (int64_t row = batch.rows; row < gathered->rows; ++row) out = Append(out, last_row);
  view.bytes = Bytes(blocks_[input].memory.get(), bytes);
  const auto element = static_cast<int64_t>(DataTypeSize(view.type));
  gathered->elements += static_cast<int64_t>(real.size()) / element;
  gathered->padding += static_cast<int64_t>(bytes - real.size()) / element;
  return Status();
}

Result<GatheredInputs> BatchBuffer::Gather(const Batch& batch, int64_t rows) {
  GatheredInputs gathered{rows, views_};
  for (size_t i = 0; i < config_.inputs.size(); ++i) FERRY_RETURN_IF_ERROR(GatherInput(batch, i, &gathered));
  return gathered;
}

}  // namespace ferry
