#include "backend/graphed_forward.h"

#include <ATen/ops/empty_like.h>

#include "backend/torch_tensors.h"
#include "base/log.h"
#include "base/strings.h"

namespace ferry {

namespace {

std::vector<Shape> ShapesOf(const std::vector<at::Tensor>& inputs) {
  std::vector<Shape> shapes;
  for (const at::Tensor& input : inputs) {
    // No tensor has an extent of -1, so that one left out differs from each that is there.
    shapes.push_back(input.defined() ? Shape(input.sizes().begin(), input.sizes().end()) : Shape{-1});
  }
  return shapes;
}

std::string ToString(const std::vector<Shape>& shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(ShapeToString(shape));
  return StrJoin(texts, ", ");
}

}  // namespace

Result<ModelOutputs> GraphedForward::Run(const std::vector<at::Tensor>& inputs, const Forward& forward) {
  const std::vector<Shape> shapes = ShapesOf(inputs);
  switch (plan_.Next(shapes)) {
    case GraphPlan::Step::kRun:
      return forward(inputs);
    case GraphPlan::Step::kRecord:
      if (!Record(inputs, forward, graphs_[shapes])) {
        plan_.Abandon(shapes);
        graphs_.erase(shapes);
        return forward(inputs);
      }
      LogDebug(StrCat("model '", name_, "': runs of ", ToString(shapes), " are replayed from now on"));
      break;
    case GraphPlan::Step::kReplay:
      break;
  }
  return Replay(graphs_.at(shapes), inputs);
}

bool GraphedForward::Record(const std::vector<at::Tensor>& inputs, const Forward& forward, Graph& graph) {
  std::string why;
  try {
    for (const at::Tensor& input : inputs) {
      graph.inputs.push_back(input.defined() ? at::empty_like(input) : at::Tensor());
    }
    Status status;
    graph.work = record_([&] {
      Result<ModelOutputs> outputs = forward(graph.inputs);
      status = outputs.status();
      if (outputs.ok()) graph.outputs = std::move(outputs).value();
    });
    if (status.ok()) return true;
    why = status.message();
  } catch (const std::exception& error) {
    why = OneLine(error.what());
  }
  LogWarning(StrCat("model '", name_, "': no more CUDA graphs, since the work for inputs of ",
                    ToString(ShapesOf(inputs)), " cannot be recorded: ", why));
  return false;
}

ModelOutputs GraphedForward::Replay(Graph& graph, const std::vector<at::Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) graph.inputs[i].copy_(inputs[i], /*non_blocking=*/true);
  }
  graph.work->Replay();
  // The next replay overwrites what this one has written.
  ModelOutputs outputs;
  outputs.names = graph.outputs.names;
  for (const at::Tensor& output : graph.outputs.tensors) {
    outputs.tensors.push_back(output.defined() ? output.clone(at::MemoryFormat::Contiguous) : output);
  }
  return outputs;
}

}  // namespace ferry
