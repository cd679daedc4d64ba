#include "backend/graph_plan.h"

namespace ferry {

GraphPlan::Step GraphPlan::Next(const std::vector<Shape>& shapes) {
  auto found = runs_.find(shapes);
  if (found == runs_.end()) {
    if (runs_.size() == kMostShapes) return Step::kRun;
    found = runs_.emplace(shapes, 0).first;
  }
  uint32_t& runs = found->second;
  if (runs > kRunsBefore) return Step::kReplay;
  if (runs == kRunsBefore && graphs_left_ == 0) return Step::kRun;
  if (++runs <= kRunsBefore) return Step::kRun;
  --graphs_left_;
  return Step::kRecord;
}

void GraphPlan::Abandon(const std::vector<Shape>& shapes) {
  runs_[shapes] = kRunsBefore;
  graphs_left_ = 0;
}

}  // namespace ferry
