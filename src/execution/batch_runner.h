#ifndef FERRY_EXECUTION_BATCH_RUNNER_H_
#define FERRY_EXECUTION_BATCH_RUNNER_H_

#include <memory>
#include <vector>

#include "execution/batch_buffer.h"
#include "ferry/backend.h"
#include "ferry/device.h"
#include "ferry/statistics.h"

namespace ferry {

// One batch on its way through the model.
struct BatchRun {
  Status status;                // UNAVAILABLE only where the device is dead
  bool divisible = false;       // it failed as it may for the sake of one request, or of the size of the batch
  bool unfit_outputs = false;   // it failed since its outputs are not what the configuration promises
  std::vector<Tensor> outputs;  // on the host, complete once the run has ended
  BatchVolume volume;
  BatchTimes times;
  size_t slot = 0;  // the runner's own
};

// BatchRunner takes the batches of one instance through its device: it gathers the rows, copies them in, runs the model,
// checks its outputs and copies them out. Where the device has memory of its own the copies are work of streams beside the
// model's, so that the next batch may be begun while one computes: what is copied never waits for what is computed, except
// for its own. On the host there is nothing to copy, and a run has ended when it has begun.
//
// Guarantees: a run that fails leaves its memory free for the next and does not touch the other's. The outputs of a run
//             stay as they are while they are held.
// Threading:  one instance's thread; the outputs are let go of on any.
// Ownership:  borrows what it is made of.
class BatchRunner {
 public:
  BatchRunner(const ModelConfig& config, Device& device, ModelInstance& model, Clock& clock);
  ~BatchRunner();

  // Makes streams and events, and binds the model to the calling thread. First of all.
  Status Prepare();

  // Whether a second run may be begun before the first has ended.
  bool Overlaps() const { return !device_.SharesHostMemory(); }

  // Begins to run `batch` as an execution of `rows` rows; it must be ended, also when its status is not OK. The batch's
  // inputs may go as soon as this returns.
  // REQUIRES: at most one other run has not ended, and only where runs overlap.
  BatchRun Begin(const Batch& batch, int64_t rows);

  // Waits until the run has ended; says how in its status.
  void End(BatchRun& run);

 private:
  struct Slot;
  struct FreeBlocks;

  void TryBegin(const Batch& batch, int64_t rows, Slot& slot, BatchRun& run);
  // Views of the inputs where the model runs.
  Result<std::span<const TensorView>> CopyIn(Slot& slot, std::span<const TensorView> inputs);
  // Begins to copy the outputs to the host.
  Status CopyOut(Slot& slot, BatchRun& run);
  Result<MemoryBlock> OutputBlock(size_t bytes);
  // After a failure half-way: nothing uses the slot's memory any more.
  void Quiesce(Slot& slot);
  void Fail(BatchRun& run, Status status) const;

  const ModelConfig& config_;
  Device& device_;
  ModelInstance& model_;
  Clock& clock_;
  std::unique_ptr<DeviceStream> in_;
  std::unique_ptr<DeviceStream> compute_;
  std::unique_ptr<DeviceStream> out_;
  std::vector<std::unique_ptr<Slot>> slots_;
  const std::shared_ptr<FreeBlocks> free_blocks_;  // on the host, for outputs; shared with those that are held
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_BATCH_RUNNER_H_
