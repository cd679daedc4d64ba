#ifndef FERRY_EXECUTION_WARMUP_H_
#define FERRY_EXECUTION_WARMUP_H_

#include <atomic>
#include <string>
#include <vector>

#include "execution/batch_runner.h"
#include "execution/execution_sizes.h"
#include "ferry/clock.h"
#include "ferry/model_config.h"

namespace ferry {

// One kind of execution to run before a model is ready.
struct WarmupRun {
  std::string sample;  // name in model_warmup; empty: a size of our own
  int64_t rows = 1;
  uint32_t count = 1;
  std::vector<Tensor> row;  // the inputs of each row's request
};

// The instance that is warmed, on its own thread.
struct WarmupTarget {
  const ModelConfig& config;
  BatchRunner& runner;
  Clock& clock;
  const std::atomic<bool>& stopping;  // set when the server stops
};

// What to run: the samples of model_warmup in their order, then each batch size that traffic can form (up to 1024, beyond
// that powers of two), on rows like those of the first sample (all zero without samples, variable extents taken as 1). The
// sizes come in the order 1, the largest, powers of two, the rest, so that a budget cuts off the least useful. With `brief`
// the sizes are 1 and the largest only: what a further instance of a model with shared weights needs for its thread. CUDA
// graphs are an instance's own, so that with them each runs every size, until it has the graph.
//   INVALID_ARGUMENT  a sample's file cannot be read or has the wrong size
Result<std::vector<WarmupRun>> PlanWarmup(const ModelConfig& config, bool brief);

// Runs the plan as batches of requests of one row each.
//
// A sample that fails fails the load: the user said that it works. Sizes of our own run on made-up values, which a model
// may refuse with good reason: that is logged, and the load goes on. Outputs that are missing or of another type than
// configured fail the load, and so do other extents when the inputs' are all fixed and there is one row.
//   UNAVAILABLE  `stopping` was set meanwhile
Status RunWarmup(const WarmupTarget& target, std::span<const WarmupRun> plan, Duration budget);

// Finds out which batch sizes are better rounded up, on rows like those of `run`, until `deadline`. Nothing is rounded for
// a model with variable extents: what holds for one length need not hold for another.
ExecutionSizes MeasureSizes(const WarmupTarget& target, const WarmupRun& run, TimePoint deadline);

}  // namespace ferry

#endif  // FERRY_EXECUTION_WARMUP_H_
