#include "execution/batch_runner.h"

#include <algorithm>
#include <new>

#include "execution/batch_outputs.h"
#include "ferry/check.h"
#include "ferry/mutex.h"

namespace ferry {

// The memory of one run, and the events that put its steps in order.
struct BatchRunner::Slot {
  Slot(const ModelConfig& config, Device& device) : gathered(config, device) {}

  bool busy = false;
  BatchBuffer gathered;
  std::vector<BatchBlock> inputs;  // on the device
  std::vector<TensorView> views;   // of them
  std::vector<Tensor> outputs;     // on the device, until they are copied out
  std::unique_ptr<DeviceEvent> copied_in;
  std::unique_ptr<DeviceEvent> computed;
  std::unique_ptr<DeviceEvent> copied_out;
};

struct BatchRunner::FreeBlocks {
  // One that is large enough; or the largest, to be replaced by a larger one; or an empty one.
  BatchBlock Take(size_t bytes) {
    MutexLock lock(mutex);
    const auto fits = std::ranges::find_if(blocks, [&](const BatchBlock& block) { return block.capacity >= bytes; });
    const auto found = fits != blocks.end() ? fits : std::ranges::max_element(blocks, {}, &BatchBlock::capacity);
    if (found == blocks.end()) return {};
    BatchBlock block = std::move(*found);
    blocks.erase(found);
    return block;
  }
  void Give(BatchBlock block) {
    MutexLock lock(mutex);
    blocks.push_back(std::move(block));
  }

  Mutex mutex;
  std::vector<BatchBlock> blocks FERRY_GUARDED_BY(mutex);
};

BatchRunner::BatchRunner(const ModelConfig& config, Device& device, ModelInstance& model, Clock& clock)
    : config_(config), device_(device), model_(model), clock_(clock), free_blocks_(std::make_shared<FreeBlocks>()) {
  const size_t depth = Overlaps() ? 2 : 1;
  for (size_t i = 0; i < depth; ++i) slots_.push_back(std::make_unique<Slot>(config, device));
}

BatchRunner::~BatchRunner() {
  for (const auto& slot : slots_) FERRY_CHECK(!slot->busy, "each run is ended");
}

Status BatchRunner::Prepare() {
  for (std::unique_ptr<DeviceStream>* stream : {&in_, &compute_, &out_}) {
    Result<std::unique_ptr<DeviceStream>> created = device_.CreateStream();
    if (!created.ok()) return created.status();
    *stream = std::move(created).value();
  }
  for (const auto& slot : slots_) {
    for (std::unique_ptr<DeviceEvent>* event : {&slot->copied_in, &slot->computed, &slot->copied_out}) {
      Result<std::unique_ptr<DeviceEvent>> created = device_.CreateEvent();
      if (!created.ok()) return created.status();
      *event = std::move(created).value();
    }
  }
  model_.BindThread(*compute_);
  return Status();
}

void BatchRunner::Fail(BatchRun& run, Status status) const {
  // On a dead device everything fails, with whatever message.
  if (Status health = device_.CheckHealth(); !health.ok()) status = std::move(health);
  // Any other code says that model and configuration contradict each other, or that the device is dead, which no smaller
  // batch mends.
  const StatusCode code = status.code();
  run.divisible = code == StatusCode::kInternal || code == StatusCode::kResourceExhausted;
  run.status = std::move(status);
}

BatchRun BatchRunner::Begin(const Batch& batch, int64_t rows) {
  const auto free = std::ranges::find(slots_, false, [](const auto& slot) { return slot->busy; });
  FERRY_CHECK(free != slots_.end(), "a run is begun only where one may be");
  Slot& slot = **free;
  slot.busy = true;
  BatchRun run;
  run.slot = static_cast<size_t>(free - slots_.begin());
  try {
    TryBegin(batch, rows, slot, run);
  } catch (const std::bad_alloc&) {
    Fail(run, ResourceExhaustedError("out of memory"));
  }
  if (!run.status.ok()) Quiesce(slot);
  return run;
}

void BatchRunner::TryBegin(const Batch& batch, int64_t rows, Slot& slot, BatchRun& run) {
  run.times.start = clock_.Now();
  const Result<GatheredInputs> inputs = slot.gathered.Gather(batch, rows);
  if (!inputs.ok()) return Fail(run, inputs.status());
  run.volume = {batch.rows, inputs->elements, inputs->padding};
  run.times.input_done = clock_.Now();
  const Result<std::span<const TensorView>> views = CopyIn(slot, inputs->views);
  if (!views.ok()) return Fail(run, views.status());
  Result<std::vector<Tensor>> outputs = model_.Run(*views);
  run.times.infer_done = clock_.Now();
  if (!outputs.ok()) return Fail(run, outputs.status());
  run.outputs = std::move(outputs).value();
  if (Status checked = CheckOutputs(config_, *inputs, run.outputs); !checked.ok()) {
    run.unfit_outputs = true;
    run.status = std::move(checked);
    return;
  }
  if (Status copying = CopyOut(slot, run); !copying.ok()) return Fail(run, std::move(copying));
  run.times.output_done = clock_.Now();
}

Result<std::span<const TensorView>> BatchRunner::CopyIn(Slot& slot, std::span<const TensorView> inputs) {
  if (!Overlaps()) return inputs;
  slot.inputs.resize(inputs.size());
  slot.views.assign(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes.empty()) continue;
    BatchBlock& block = slot.inputs[i];
    FERRY_RETURN_IF_ERROR(
        block.Reserve(inputs[i].bytes.size(), [&](size_t size) { return device_.AllocateDevice(size); }));
    FERRY_RETURN_IF_ERROR(in_->CopyToDevice(block.memory.get(), inputs[i].bytes));
    slot.views[i].bytes = Bytes(block.memory.get(), inputs[i].bytes.size());
  }
  FERRY_RETURN_IF_ERROR(in_->Record(*slot.copied_in));
  FERRY_RETURN_IF_ERROR(compute_->WaitFor(*slot.copied_in));
  return std::span<const TensorView>(slot.views);
}

Status BatchRunner::CopyOut(Slot& slot, BatchRun& run) {
  if (!Overlaps()) return Status();
  FERRY_RETURN_IF_ERROR(compute_->Record(*slot.computed));
  FERRY_RETURN_IF_ERROR(out_->WaitFor(*slot.computed));
  slot.outputs = run.outputs;  // they stay on the device until they are copied
  for (Tensor& output : run.outputs) {
    const size_t size = output.bytes.size();
    const Result<MemoryBlock> block = OutputBlock(size);
    if (!block.ok()) return block.status();
    if (size > 0) FERRY_RETURN_IF_ERROR(out_->CopyToHost(block->get(), output.bytes));
    output.bytes = Bytes(block->get(), size);
    output.owner = *block;
  }
  return out_->Record(*slot.copied_out);
}

// Allocating would be slow, so a block is used again as soon as the answers that share it have been sent.
Result<MemoryBlock> BatchRunner::OutputBlock(size_t bytes) {
  BatchBlock block = free_blocks_->Take(bytes);
  FERRY_RETURN_IF_ERROR(block.Reserve(bytes, [&](size_t size) { return device_.AllocateHost(size); }));
  std::byte* const memory = block.memory.get();
  return MemoryBlock(
      memory, [free = free_blocks_, block = std::move(block)](std::byte*) mutable { free->Give(std::move(block)); });
}

void BatchRunner::End(BatchRun& run) {
  Slot& slot = *slots_[run.slot];
  if (run.status.ok() && Overlaps()) {
    Status status = slot.copied_out->Wait();
    run.times.infer_done = run.times.output_done = clock_.Now();
    if (!status.ok()) {
      Quiesce(slot);
      Fail(run, std::move(status));
    }
  }
  slot.outputs.clear();
  if (!run.status.ok()) run.outputs.clear();
  slot.busy = false;
}

// The statuses only repeat what is known already.
void BatchRunner::Quiesce(Slot& slot) {
  for (DeviceStream* stream : {in_.get(), compute_.get(), out_.get()}) (void)stream->Wait();
  slot.outputs.clear();
}

}  // namespace ferry
