#ifndef FERRY_EXECUTION_INSTANCE_H_
#define FERRY_EXECUTION_INSTANCE_H_

#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "execution/batch_buffer.h"
#include "execution/completion_pool.h"
#include "execution/output_memory.h"
#include "execution/warmup.h"
#include "ferry/backend.h"
#include "ferry/batcher.h"
#include "ferry/statistics.h"

namespace ferry {

// Instance is one instance of a model with its thread, which lives as long as the instance: it warms up, then pulls
// batches, runs them and hands their outputs over until the batcher is closed and empty.
//
// Guarantees: each request of a pulled batch is completed exactly once, whatever the model does.
// Blocking:   the destructor waits for the thread: close the batcher first.
class Instance {
 public:
  struct Parts {
    const ModelConfig& config;
    Batcher& batcher;
    ModelStatistics& statistics;
    CompletionPool& completions;
    OutputMemory* outputs;  // null: nobody counts
    Clock& clock;
    const std::atomic<bool>& stopping;
    Duration warmup_budget;
  };

  // How an instance comes to its execution sizes: it measures them when it warms up, or is given another's.
  struct Preparation {
    std::vector<WarmupRun> warmup;
    std::optional<ExecutionSizes> sizes;
  };

  Instance(const Parts& parts, std::unique_ptr<ModelInstance> model, Preparation preparation);
  ~Instance();

  // Waits until the instance is warm, and gives its execution sizes; an error means that it will not serve.
  Result<ExecutionSizes> WaitUntilWarm() { return warm_.get_future().get(); }

 private:
  void Main(const Preparation& preparation);
  Result<ExecutionSizes> WarmUp(const Preparation& preparation);
  // One run of the model, with the times that it took.
  struct Run {
    Status status;
    std::vector<Tensor> outputs;
    BatchVolume volume;
    BatchTimes times;
    bool divisible = false;  // it failed as it may for the sake of one request, or of the size of the batch
  };

  // Answers the whole batch, whatever the model does. A batch that throws is run again request by request, so that a bad
  // request harms nobody else; one that runs out of memory is run again in halves. Each request fails once at most alone.
  void Execute(Batch batch);
  Run RunModel(const Batch& batch);
  Run TryModel(const Batch& batch);
  static Run Failed(Status status, bool divisible);
  void Succeed(Batch batch, Run run);
  void Fail(const Batch& batch, Failure failure, const Status& status);
  void Deliver(Batch batch, std::vector<Tensor> outputs);

  const Parts parts_;
  const std::unique_ptr<ModelInstance> model_;
  BatchBuffer buffer_;
  ExecutionSizes sizes_;  // the thread's own, as is the buffer
  std::promise<Result<ExecutionSizes>> warm_;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_INSTANCE_H_
