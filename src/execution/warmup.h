#ifndef FERRY_EXECUTION_WARMUP_H_
#define FERRY_EXECUTION_WARMUP_H_

#include <atomic>
#include <string>
#include <vector>

#include "ferry/backend.h"
#include "ferry/clock.h"
#include "ferry/model_config.h"

namespace ferry {

// One kind of execution to run before a model is ready.
struct WarmupRun {
  std::string sample;  // name in model_warmup; empty: a size of our own
  int64_t rows = 1;
  uint32_t count = 1;
  std::vector<Tensor> inputs;  // as the model sees them; may hold more rows than `rows`
};

// What to run: the samples of model_warmup in their order, then each batch size that traffic can form (up to 1024, beyond
// that powers of two), on rows like those of the first sample (all zero without samples, variable extents taken as 1). The
// sizes come in the order 1, the largest, powers of two, the rest, so that a budget cuts off the least useful. With `brief`
// the sizes are 1 and the largest only: what a further instance of a model with shared weights needs for its thread.
//   INVALID_ARGUMENT  a sample's file cannot be read or has the wrong size
Result<std::vector<WarmupRun>> PlanWarmup(const ModelConfig& config, bool brief);

// Runs the plan on the instance's own thread.
//
// A sample that fails fails the load: the user said that it works. Sizes of our own run on made-up values, which a model
// may refuse with good reason: that is logged, and the load goes on. Outputs that are missing or of another type than
// configured fail the load, and so do other extents when the inputs' are all fixed and there is one row.
//   UNAVAILABLE  `stopping` was set meanwhile
Status RunWarmup(const ModelConfig& config, std::vector<WarmupRun> plan, ModelInstance& instance, Clock& clock,
                 Duration budget, const std::atomic<bool>& stopping);

}  // namespace ferry

#endif  // FERRY_EXECUTION_WARMUP_H_
