#include "execution/batch_buffer.h"

#include <algorithm>

#include "base/strings.h"
#include "execution/batch_inputs.h"
#include "execution/padding.h"
#include "execution/reshape.h"

namespace ferry {

namespace {

// Of one input; as much as a full batch of a configuration may have.
constexpr size_t kMostBytes = size_t{4} << 30;

// Copies and returns where the next bytes go.
std::byte* Append(std::byte* out, const BytePieces& bytes) { return PieceReader(bytes).Read(out, bytes.size()); }

// Copies `rows` and fills them up with `value` to a tensor of the shape `padded`; returns where the next bytes go.
std::byte* AppendPadded(std::byte* out, const InputView& rows, const Shape& padded, Bytes value) {
  const size_t element = value.size();
  PieceReader reader(rows.bytes);
  std::byte* filled = out;
  ForEachRun(padded, rows.shape, [&](size_t offset, size_t count) {
    std::byte* const run = out + offset * element;
    Fill({filled, run}, value);
    filled = reader.Read(run, count * element);
  });
  std::byte* const end = out + *ByteSize(rows.type, padded);
  Fill({filled, end}, value);
  return end;
}

}  // namespace

Status BatchBlock::Reserve(size_t bytes, const Allocate& allocate) {
  if (memory && bytes <= capacity) return Status();
  if (bytes > kMostBytes) {
    return ResourceExhaustedError(StrCat("a batch buffer of ", bytes, " bytes would exceed ", kMostBytes));
  }
  const size_t larger = std::max({bytes, capacity * 2, size_t{64}});
  *this = {};  // first, so that the old block and the new one are never held together
  Result<MemoryBlock> block = allocate(larger);
  if (!block.ok()) return block.status();
  memory = std::move(block).value();
  capacity = larger;
  return Status();
}

BatchBuffer::BatchBuffer(const ModelConfig& config, Device& device)
    : config_(config), device_(device), blocks_(config.ModelInputNames().size()), views_(blocks_.size()) {
  for (size_t i = 0; i < config.inputs.size(); ++i) {
    Shape full = config.inputs[i].dims;
    full.insert(full.begin(), config.max_rows());
    // Variable extents have no size yet. If there is no memory now, Gather() says so.
    (void)BlockFor(i, config.inputs[i].type, full);
  }
}

Result<std::span<std::byte>> BatchBuffer::BlockFor(size_t view, DataType type, const Shape& shape) {
  const std::optional<int64_t> bytes = ByteSize(type, shape);
  if (!bytes) return ResourceExhaustedError(StrCat("no memory for a batch of shape ", ShapeToString(shape)));
  FERRY_RETURN_IF_ERROR(
      blocks_[view].Reserve(static_cast<size_t>(*bytes), [&](size_t size) { return device_.AllocateHost(size); }));
  return std::span(blocks_[view].memory.get(), static_cast<size_t>(*bytes));
}

Status BatchBuffer::GatherInput(const Batch& batch, size_t input, GatheredInputs* gathered) {
  const InputView& first = batch.requests.front()->inputs[input];
  if (first.type == DataType::kInvalid) {  // nobody of this group has it
    views_[input] = {};
    return Status();
  }
  if (config_.inputs[input].ragged) return GatherRagged(batch, input, gathered);
  Shape shape = PaddedShape(config_, input, first.shape);
  if (config_.batches()) shape.front() = gathered->rows;
  const Result<std::span<std::byte>> block = BlockFor(input, first.type, shape);
  if (!block.ok()) return block.status();
  const size_t row_bytes = block->size() / static_cast<size_t>(gathered->rows);
  const int64_t real_bytes = CopyRows(batch, input, shape, *block);
  for (int64_t row = batch.rows; row < gathered->rows; ++row) {
    Append(block->data() + static_cast<size_t>(row) * row_bytes,
           Bytes(block->subspan(static_cast<size_t>(batch.rows - 1) * row_bytes, row_bytes)));
  }
  const auto element = static_cast<int64_t>(DataTypeSize(first.type));
  gathered->elements += real_bytes / element;
  gathered->padding += (static_cast<int64_t>(block->size()) - real_bytes) / element;
  views_[input] = {first.type, ReshapeForModel(config_.inputs[input], config_.batches(), shape), *block};
  return Status();
}

// Copies the batch's rows to the begin of `block`, which has `shape`; returns the bytes that they are without padding.
int64_t BatchBuffer::CopyRows(const Batch& batch, size_t input, const Shape& shape, std::span<std::byte> block) {
  const Padding::Input* padding = FindPadding(config_, input);
  int64_t bytes = 0;
  std::byte* out = block.data();
  for (const auto& request : batch.requests) {
    const InputView& rows = request->inputs[input];
    bytes += static_cast<int64_t>(rows.bytes.size());
    if (padding == nullptr) {
      out = Append(out, rows.bytes);
      continue;
    }
    Shape padded = shape;
    padded.front() = rows.shape.front();
    out = AppendPadded(out, rows, padded, padding->value);
  }
  return bytes;
}

// All elements of all requests in a row.
Status BatchBuffer::GatherRagged(const Batch& batch, size_t input, GatheredInputs* gathered) {
  const DataType type = config_.inputs[input].type;
  size_t bytes = 0;
  for (const auto& request : batch.requests) bytes += request->inputs[input].bytes.size();
  const auto elements = static_cast<int64_t>(bytes / DataTypeSize(type));
  const Result<std::span<std::byte>> block = BlockFor(input, type, {elements});
  if (!block.ok()) return block.status();
  std::byte* out = block->data();
  for (const auto& request : batch.requests) out = Append(out, request->inputs[input].bytes);
  views_[input] = {type, {elements}, *block};
  gathered->elements += elements;
  return Status();
}

Status BatchBuffer::FillBatchInput(const Batch& batch, size_t index) {
  const BatchInput& input = config_.batch_inputs[index];
  const BatchInputContent content = ContentOf(input, batch);
  const size_t view = config_.inputs.size() + index;
  const Result<std::span<std::byte>> block = BlockFor(view, input.type, content.shape);
  if (!block.ok()) return block.status();
  if (content.values.empty()) std::ranges::fill(*block, std::byte{0});
  WriteAs(input.type, content.values, *block);
  views_[view] = {input.type, content.shape, *block};
  return Status();
}

Result<GatheredInputs> BatchBuffer::Gather(const Batch& batch, int64_t rows) {
  GatheredInputs gathered{rows, views_};
  for (size_t i = 0; i < config_.inputs.size(); ++i) FERRY_RETURN_IF_ERROR(GatherInput(batch, i, &gathered));
  for (size_t i = 0; i < config_.batch_inputs.size(); ++i) FERRY_RETURN_IF_ERROR(FillBatchInput(batch, i));
  return gathered;
}

}  // namespace ferry
