#ifndef FERRY_BACKEND_GRAPHED_FORWARD_H_
#define FERRY_BACKEND_GRAPHED_FORWARD_H_

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "backend/graph_plan.h"
#include "backend/model_outputs.h"

namespace ferry {

// Work of a device that was recorded once and can be done again, on the same memory.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  virtual void Replay() = 0;  // throws what libtorch throws
};

// Calls `work` once, on the calling thread, and gives what it would have done on the device; the device does none of it
// yet. Throws what libtorch or `work` throws, after which the device is as before.
using RecordWork = std::function<std::unique_ptr<RecordedWork>(const std::function<void()>& work)>;

// GraphedForward runs a model's forward() and, for shapes that come again and again, replays what was recorded of it.
//
// Guarantees: the outputs are those of `forward` and nobody else's. A run that cannot be recorded, since it waits for the
//             device for example, is run as it is, and nothing is recorded any more.
// Threading:  one thread at a time, always the same.
class GraphedForward {
 public:
  using Forward = std::function<Result<ModelOutputs>(const std::vector<at::Tensor>& inputs)>;

  // `name` is the model's, for the log.
  GraphedForward(std::string name, RecordWork record) : name_(std::move(name)), record_(std::move(record)) {}

  // Inputs that are left out are undefined. Throws what `forward` throws.
  Result<ModelOutputs> Run(const std::vector<at::Tensor>& inputs, const Forward& forward);

 private:
  // What a graph reads and writes, at addresses that stay.
  struct Graph {
    std::vector<at::Tensor> inputs;
    ModelOutputs outputs;
    std::unique_ptr<RecordedWork> work;
  };

  // False when it cannot be recorded.
  bool Record(const std::vector<at::Tensor>& inputs, const Forward& forward, Graph& graph);
  ModelOutputs Replay(Graph& graph, const std::vector<at::Tensor>& inputs);

  const std::string name_;
  const RecordWork record_;
  GraphPlan plan_;
  std::map<std::vector<Shape>, Graph> graphs_;
};

}  // namespace ferry

#endif  // FERRY_BACKEND_GRAPHED_FORWARD_H_
