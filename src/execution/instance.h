#ifndef FERRY_EXECUTION_INSTANCE_H_
#define FERRY_EXECUTION_INSTANCE_H_

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "execution/batch_runner.h"
#include "execution/completion_pool.h"
#include "execution/output_memory.h"
#include "execution/warmup.h"
#include "ferry/backend.h"
#include "ferry/batcher.h"
#include "ferry/statistics.h"

namespace ferry {

// Instance is one instance of a model with its thread, which lives as long as the instance: it warms up, then pulls
// batches, runs them and hands their outputs over until the batcher is closed and empty. Where the device lets runs
// overlap, a batch that cannot grow any more is begun while the one before it computes; any other is chosen as late as it
// can be, when the instance is free.
//
// Guarantees: each request of a pulled batch is completed exactly once, whatever the model does.
// Blocking:   the destructor waits for the thread: close the batcher first.
class Instance {
 public:
  struct Parts {
    const ModelConfig& config;
    Device& device;
    Batcher& batcher;
    ModelStatistics& statistics;
    CompletionPool& completions;
    OutputMemory* outputs;  // null: nobody counts
    Clock& clock;
    const std::atomic<bool>& stopping;
    Duration warmup_budget;
    std::function<void(const Status&)> device_lost;
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
  // A batch that has been begun.
  struct Started {
    Batch batch;
    BatchRun run;
  };

  // Answers the whole batch, whatever the model does. A batch that throws is run again request by request, so that a bad
  // request harms nobody else; one that runs out of memory is run again in halves. Each request fails once at most alone.
  void Finish(Started started);
  void Serve();
  Started Begin(Batch batch);
  void Retry(Batch batch, const Status& failure);
  void Succeed(Batch batch, BatchRun run);
  void Fail(const Batch& batch, Failure failure, const Status& status);
  void Deliver(Batch batch, std::vector<Tensor> outputs);

  const Parts parts_;
  const std::unique_ptr<ModelInstance> model_;
  BatchRunner runner_;
  ExecutionSizes sizes_;  // the thread's own, as is the runner
  std::promise<Result<ExecutionSizes>> warm_;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_EXECUTION_INSTANCE_H_
