#ifndef FERRY_BACKEND_GRAPH_PLAN_H_
#define FERRY_BACKEND_GRAPH_PLAN_H_

#include <cstdint>
#include <map>
#include <vector>

#include "ferry/tensor.h"

namespace ferry {

// GraphPlan says which runs of a model are done by a graph: the work of one run, recorded once and then started as a whole,
// which spares the launch of each kernel. A graph holds for one shape of each input, so that each batch size has its own.
//
// Guarantees: a shape is recorded once at most, after it was run often enough for libraries to have set themselves up;
//             there are at most kMostGraphs graphs, and what is remembered of shapes that do not come back is bounded.
// Threading:  one thread at a time.
class GraphPlan {
 public:
  enum class Step { kRun, kRecord, kReplay };

  // What sets itself up in its first runs (kernels that are loaded, libraries that try algorithms) allocates memory and
  // waits for the device, neither of which can be recorded.
  static constexpr uint32_t kRunsBefore = 3;
  // Each holds memory of its inputs and outputs.
  static constexpr size_t kMostGraphs = 64;

  // What the next run is to do whose inputs have `shapes`. After kRecord the plan takes the graph to be there.
  Step Next(const std::vector<Shape>& shapes);

  // The graph for `shapes` could not be recorded, and no other is tried: a failed attempt costs time and warnings.
  void Abandon(const std::vector<Shape>& shapes);

 private:
  static constexpr size_t kMostShapes = 1024;

  std::map<std::vector<Shape>, uint32_t> runs_;  // up to kRunsBefore + 1, with which a shape has its graph
  size_t graphs_left_ = kMostGraphs;
};

}  // namespace ferry

#endif  // FERRY_BACKEND_GRAPH_PLAN_H_
