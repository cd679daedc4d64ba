#include "backend/torchscript_backend.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "backend/tensor_binding.h"
#include "backend/torchscript_instance.h"
#include "base/log.h"
#include "base/strings.h"

namespace ferry {

namespace {

std::optional<bool> ParseBool(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (text == "true" || text == "on" || text == "1") return true;
  if (text == "false" || text == "off" || text == "0") return false;
  return std::nullopt;
}

Status ReadBool(const ModelConfig& config, const std::string& key, bool* value) {
  const auto found = config.parameters.find(key);
  if (found == config.parameters.end()) return Status();
  const std::optional<bool> parsed = ParseBool(found->second);
  if (!parsed) {
    return InvalidArgumentError(StrCat("parameter ", key, " ", Quoted(found->second), ": must be true or false"));
  }
  *value = *parsed;
  return Status();
}

Status ReadThreads(const ModelConfig& config, int* threads) {
  const auto found = config.parameters.find("INTRA_OP_THREAD_COUNT");
  if (found == config.parameters.end()) return Status();
  const std::optional<int> parsed = ParseNumber<int>(found->second);
  if (!parsed || *parsed < 1 || *parsed > 1024) {
    return InvalidArgumentError(
        StrCat("parameter INTRA_OP_THREAD_COUNT ", Quoted(found->second), ": must be a number from 1 to 1024"));
  }
  // libgomp ends the process when it cannot have a thread, so what is asked for has to be within reason.
  constexpr int kMostThreads = 1024;
  const auto instances = static_cast<int>(config.instances.size());
  if (*parsed * instances > kMostThreads) {
    return InvalidArgumentError(StrCat("parameter INTRA_OP_THREAD_COUNT ", *parsed, ": for ", instances,
                                       " instances more than ", kMostThreads, " threads in all"));
  }
  *threads = *parsed;
  return Status();
}

Result<TorchScriptOptions> ReadParameters(const ModelConfig& config, c10::Device device, int threads) {
  TorchScriptOptions options;
  options.device = device;
  options.threads = threads;
  bool disable_optimized = false;
  FERRY_RETURN_IF_ERROR(ReadThreads(config, &options.threads));
  FERRY_RETURN_IF_ERROR(ReadBool(config, "INFERENCE_MODE", &options.inference_mode));
  FERRY_RETURN_IF_ERROR(ReadBool(config, "ENABLE_WEIGHT_SHARING", &options.share_weights));
  FERRY_RETURN_IF_ERROR(ReadBool(config, "DISABLE_OPTIMIZED_EXECUTION", &disable_optimized));
  options.optimized_execution = !disable_optimized;
  options.graphs = config.cuda_graphs && device.is_cuda();
  static const std::set<std::string> kKnown = {"INFERENCE_MODE", "ENABLE_WEIGHT_SHARING", "DISABLE_OPTIMIZED_EXECUTION",
                                               "INTRA_OP_THREAD_COUNT"};
  for (const auto& [key, value] : config.parameters) {
    if (!kKnown.contains(key) && !key.starts_with("ferry.")) {
      LogWarning(StrCat("model '", config.name, "': parameter ", Quoted(key), " is accepted but has no effect"));
    }
  }
  return options;
}

c10::TypePtr TensorDictType() { return c10::DictType::create(c10::StringType::get(), c10::TensorType::get()); }

// Each input has to meet a tensor argument; a number or a list would be refused at every run.
Status CheckArgumentTypes(const ModelConfig& config, const c10::FunctionSchema& schema, const InputBinding& binding) {
  const std::vector<std::string> names = config.ModelInputNames();
  for (size_t i = 0; i < binding.argument.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[binding.argument[i] + 1];  // 0 is self
    if (!c10::TensorType::get()->isSubtypeOf(*argument.type())) {
      return InvalidArgumentError(StrCat("input ", Quoted(names[i]), ": argument '", argument.name(),
                                         "' of the model's forward() is a ", argument.type()->repr_str(),
                                         ", not a Tensor"));
    }
  }
  return Status();
}

ForwardArguments ArgumentsOf(const c10::FunctionSchema& schema) {
  ForwardArguments arguments;
  for (size_t i = 1; i < schema.arguments().size(); ++i) {  // 0 is self
    const c10::Argument& argument = schema.arguments()[i];
    arguments.names.push_back(argument.name());
    arguments.has_default.push_back(argument.default_value().has_value());
  }
  arguments.single_dict = arguments.names.size() == 1 && *schema.arguments()[1].type() == *TensorDictType();
  return arguments;
}

Result<torch::jit::Module> LoadModule(const std::string& path, c10::Device device) {
  try {
    c10::InferenceMode guard(false);  // parameters stay ordinary tensors, so that either mode can run the model
    torch::jit::Module module = torch::jit::load(path, device);
    module.eval();
    return module;
  } catch (const c10::Error& error) {
    return InternalError(StrCat("failed to load ", path, ": ", OneLine(error.what_without_backtrace())));
  } catch (const std::exception& error) {
    return InternalError(StrCat("failed to load ", path, ": ", OneLine(error.what())));
  } catch (...) {
    return InternalError(StrCat("failed to load ", path, ": an exception of unknown type"));
  }
}

class TorchScriptModel final : public BackendModel {
 public:
  TorchScriptModel(const ModelConfig& config, std::string path, TorchScriptOptions options, torch::jit::Module module)
      : config_(config), path_(std::move(path)), options_(options), module_(std::move(module)) {}

  // Finds out how inputs and outputs are bound.
  Status Bind() {
    const std::optional<torch::jit::Method> forward = module_.find_method("forward");
    if (!forward) return InvalidArgumentError(StrCat(path_, " has no method 'forward'"));
    const c10::FunctionSchema& schema = forward->function().getSchema();
    Result<InputBinding> inputs = BindInputs(config_, ArgumentsOf(schema));
    if (!inputs.ok()) return inputs.status();
    binding_.inputs = *inputs;
    FERRY_RETURN_IF_ERROR(CheckArgumentTypes(config_, schema, binding_.inputs));
    if (binding_.inputs.by_order) {
      LogWarning(StrCat("model '", config_.name, "': inputs are given to forward() in the order of the configuration; ",
                        "name them after its arguments or <name>__<index> to be sure"));
    }
    for (size_t i = 1; i < schema.arguments().size(); ++i) {
      binding_.defaults.push_back(schema.arguments()[i].default_value().value_or(c10::IValue()));
    }
    binding_.outputs = BindOutputs(config_);
    return Status();
  }

  bool SharesWeights() const override { return options_.share_weights; }

  Result<std::unique_ptr<ModelInstance>> CreateInstance() override {
    if (options_.share_weights) return MakeTorchScriptInstance(config_, options_, binding_, module_);
    Result<torch::jit::Module> own = LoadModule(path_, options_.device);
    if (!own.ok()) return own.status();
    return MakeTorchScriptInstance(config_, options_, binding_, std::move(own).value());
  }

 private:
  const ModelConfig& config_;
  const std::string path_;
  const TorchScriptOptions options_;
  TorchScriptBinding binding_;
  const torch::jit::Module module_;
};

// Settings that torch keeps for the whole process; the first of them may be made once only.
void SetUpTorch() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::set_num_interop_threads(1);  // TorchScript's fork() and wait() alone use them
    // The fuser of the CPU is not built in, but its passes would still run.
    torch::jit::setTensorExprFuserEnabled(false);
  });
}

class TorchScriptBackend final : public Backend {
 public:
  TorchScriptBackend() { SetUpTorch(); }

  Result<std::unique_ptr<BackendModel>> Load(const ModelConfig& config, const std::string& path, Device& device,
                                             int threads) override {
    Result<TorchScriptOptions> options = ReadParameters(config, c10::Device(device.name()), threads);
    if (!options.ok()) return options.status();
    Result<torch::jit::Module> module = LoadModule(path, options->device);
    if (!module.ok()) return module.status();
    auto model = std::make_unique<TorchScriptModel>(config, path, *options, std::move(module).value());
    FERRY_RETURN_IF_ERROR(model->Bind());
    return std::unique_ptr<BackendModel>(std::move(model));
  }
};

}  // namespace

std::unique_ptr<Backend> MakeTorchScriptBackend() { return std::make_unique<TorchScriptBackend>(); }

}  // namespace ferry
