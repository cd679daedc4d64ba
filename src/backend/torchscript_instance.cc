#include "backend/torchscript_instance.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "backend/graphed_forward.h"
#include "backend/model_outputs.h"
#include "backend/torch_gpu.h"
#include "base/strings.h"

namespace ferry {

namespace {

bool IsOutOfMemory(std::string_view what) {
  return what.find("can't allocate memory") != std::string_view::npos ||
         what.find("out of memory") != std::string_view::npos;
}

Status ExecuteFailure(std::string_view what) {
  std::string message = StrCat("PyTorch execute failure: ", OneLine(what));
  return IsOutOfMemory(what) ? ResourceExhaustedError(std::move(message)) : InternalError(std::move(message));
}

class TorchScriptInstance final : public ModelInstance {
 public:
  TorchScriptInstance(const ModelConfig& config, const TorchScriptOptions& options, const TorchScriptBinding& binding,
                      torch::jit::Module module)
      : config_(config),
        names_(config.ModelInputNames()),
        options_(options),
        binding_(binding),
        module_(std::move(module)) {
    if (options.graphs) graphs_.emplace(config.name, MakeWorkRecorder(options.device));
  }

  void BindThread(DeviceStream& stream) override {
    // The first call in a thread adopts the number that another thread has set last, so it has to come before our own.
    at::get_num_threads();
    at::set_num_threads(options_.threads);
    torch::jit::setGraphExecutorOptimize(options_.optimized_execution);
    UseStream(options_.device, stream);
  }

  Result<std::vector<Tensor>> Run(std::span<const TensorView> inputs) override {
    Result<std::vector<Tensor>> outputs = TryRun(inputs);
    // Not before what the failed run held is free. What other models need may be in other sizes than what is kept.
    if (outputs.status().code() == StatusCode::kResourceExhausted) ReleaseKeptMemory(options_.device);
    return outputs;
  }

 private:
  Result<std::vector<Tensor>> TryRun(std::span<const TensorView> inputs) {
    try {
      const std::optional<c10::InferenceMode> inference =
          options_.inference_mode ? std::optional<c10::InferenceMode>(std::in_place, true) : std::nullopt;
      const at::NoGradGuard no_grad;
      std::vector<at::Tensor> wrapped;
      wrapped.reserve(inputs.size());
      for (const TensorView& input : inputs) {
        wrapped.push_back(input.type == DataType::kInvalid ? at::Tensor() : WrapInTorch(input, options_.device));
      }
      // `wrapped` lives on until the outputs are taken, so that an output on an input's memory shows as shared.
      Result<ModelOutputs> outputs = graphs_ ? graphs_->Run(wrapped, forward_) : forward_(wrapped);
      if (!outputs.ok()) return outputs.status().WithPrefix(Prefix());
      return Take(std::move(outputs).value());
    } catch (const std::bad_alloc&) {
      return ExecuteFailure("out of memory");
    } catch (const c10::Error& error) {
      return ExecuteFailure(error.what_without_backtrace());
    } catch (const std::exception& error) {
      return ExecuteFailure(error.what());
    } catch (...) {
      return ExecuteFailure("an exception of unknown type");
    }
  }

  std::string Prefix() const { return StrCat("model '", config_.name, "': "); }

  std::vector<c10::IValue> Arguments(const std::vector<at::Tensor>& inputs) const {
    if (binding_.inputs.kind == InputBinding::Kind::kDict) {
      c10::Dict<std::string, at::Tensor> dict;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].defined()) dict.insert(names_[i], inputs[i]);
      }
      return {dict};
    }
    std::vector<c10::IValue> arguments = binding_.defaults;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].defined()) arguments[binding_.inputs.argument[i]] = inputs[i];
    }
    return arguments;
  }

  // The position of configured output `index` among the model's.
  Result<size_t> Position(const ModelOutputs& outputs, size_t index) const {
    const std::string& name = config_.outputs[index].name;
    if (!outputs.names.empty()) {
      const auto found = std::find(outputs.names.begin(), outputs.names.end(), name);
      if (found != outputs.names.end()) return static_cast<size_t>(found - outputs.names.begin());
      return InvalidArgumentError(StrCat(
          Prefix(), "output '", name, "' is not among the keys of the returned dict: ", StrJoin(outputs.names, ", ")));
    }
    if (!binding_.outputs.ok()) return binding_.outputs.status();
    const size_t position = (*binding_.outputs)[index];
    if (position < outputs.tensors.size()) return position;
    return InvalidArgumentError(StrCat(Prefix(), "output '", name, "' would be number ", position,
                                       ", but the model returned ", outputs.tensors.size(), " tensors"));
  }

  Result<std::vector<Tensor>> Take(ModelOutputs outputs) const {
    std::vector<Tensor> taken;
    for (size_t i = 0; i < config_.outputs.size(); ++i) {
      const Result<size_t> position = Position(outputs, i);
      if (!position.ok()) return position.status();
      at::Tensor& tensor = outputs.tensors[*position];
      const auto where = [&] { return StrCat(Prefix(), "output '", config_.outputs[i].name, "' "); };
      if (!tensor.defined()) return InvalidArgumentError(where() + "was not returned");
      if (tensor.dim() == 0) return InvalidArgumentError(where() + "is a scalar; a tensor with a shape is needed");
      Result<Tensor> output = TakeFromTorch(std::exchange(tensor, at::Tensor()), options_.device);
      if (!output.ok()) return output.status().WithPrefix(Prefix());
      if (output->type != config_.outputs[i].type) {
        return InvalidArgumentError(StrCat(where(), "has type ", DataTypeName(output->type),
                                           ", but the configuration says ", DataTypeName(config_.outputs[i].type)));
      }
      taken.push_back(std::move(output).value());
    }
    return taken;
  }

  const ModelConfig& config_;
  const std::vector<std::string> names_;
  const TorchScriptOptions options_;
  const TorchScriptBinding& binding_;
  torch::jit::Module module_;
  const GraphedForward::Forward forward_ = [this](const std::vector<at::Tensor>& inputs) {
    return FlattenOutputs(module_.forward(Arguments(inputs)));
  };
  std::optional<GraphedForward> graphs_;
};

}  // namespace

std::unique_ptr<ModelInstance> MakeTorchScriptInstance(const ModelConfig& config, const TorchScriptOptions& options,
                                                       const TorchScriptBinding& binding, torch::jit::Module module) {
  return std::make_unique<TorchScriptInstance>(config, options, binding, std::move(module));
}

}  // namespace ferry
