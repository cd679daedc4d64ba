#include "execution/warmup.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "base/log.h"
#include "base/strings.h"
#include "execution/batch_group.h"
#include "execution/batch_outputs.h"

namespace ferry {

namespace {

// TorchScript's executor profiles the first run, optimizes in the second and is steady in the third.
constexpr uint32_t kFirstRuns = 3;
// The backend records a CUDA graph in the fourth run of each size.
constexpr uint32_t kRunsUntilGraph = 4;
// Beyond this only powers of two and the largest size are warmed: no budget would reach the others.
constexpr int64_t kMostSizes = 1024;

std::byte* Writable(const Tensor& tensor) { return const_cast<std::byte*>(tensor.bytes.data()); }

template <typename Element>
void FillAs(const Tensor& tensor, auto&& next) {
  auto* out = reinterpret_cast<Element*>(Writable(tensor));
  for (size_t i = 0; i < tensor.bytes.size() / sizeof(Element); ++i) out[i] = static_cast<Element>(next());
}

// Floats in [0, 1), everything else 0 or 1: values that few models refuse. The seed is fixed, so loads are repeatable.
void FillRandom(const Tensor& tensor) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> fraction(0.0, 1.0);
  const auto bit = [&] { return random() & 1; };
  switch (tensor.type) {
    case DataType::kFp32:
      return FillAs<float>(tensor, [&] { return fraction(random); });
    case DataType::kFp64:
      return FillAs<double>(tensor, [&] { return fraction(random); });
    case DataType::kFp16:  // 0 or 1.0, as bits
      return FillAs<uint16_t>(tensor, [&] { return bit() ? 0x3c00 : 0; });
    case DataType::kBf16:
      return FillAs<uint16_t>(tensor, [&] { return bit() ? 0x3f80 : 0; });
    default:
      break;
  }
  switch (DataTypeSize(tensor.type)) {
    case 1:
      return FillAs<uint8_t>(tensor, bit);
    case 2:
      return FillAs<uint16_t>(tensor, bit);
    case 4:
      return FillAs<uint32_t>(tensor, bit);
    default:
      return FillAs<uint64_t>(tensor, bit);
  }
}

Status FillFromFile(const std::string& path, const Tensor& tensor) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgumentError(StrCat("cannot read ", path));
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  if (content.size() != tensor.bytes.size()) {
    return InvalidArgumentError(StrCat(path, " has ", content.size(), " bytes, its shape needs ", tensor.bytes.size()));
  }
  std::memcpy(Writable(tensor), content.data(), content.size());
  return Status();
}

Shape WithRows(const ModelConfig& config, Shape shape, int64_t rows) {
  if (config.batches()) shape.insert(shape.begin(), rows);
  return shape;
}

// The sample's inputs, one row, in the order of the configuration.
Result<std::vector<Tensor>> SampleRow(const ModelConfig& config, const WarmupSample& sample) {
  std::vector<Tensor> inputs;
  for (const TensorConfig& input : config.inputs) {
    const auto given = sample.inputs.find(input.name);
    if (given == sample.inputs.end()) {  // an optional one
      inputs.emplace_back();
      continue;
    }
    const WarmupInput& warm = given->second;
    Tensor row = ZeroTensor(warm.type, WithRows(config, warm.dims, 1));
    if (warm.fill == WarmupInput::Fill::kRandom) FillRandom(row);
    if (warm.fill == WarmupInput::Fill::kFile) {
      FERRY_RETURN_IF_ERROR(FillFromFile(StrCat(config.directory, "/warmup/", warm.file), row)
                                .WithPrefix(StrCat("model_warmup '", sample.name, "': ")));
    }
    inputs.push_back(std::move(row));
  }
  return inputs;
}

std::vector<Tensor> ZeroRow(const ModelConfig& config) {
  std::vector<Tensor> inputs;
  for (const TensorConfig& input : config.inputs) {
    Shape shape = WithRows(config, input.dims, 1);
    std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{1});
    inputs.push_back(ZeroTensor(input.type, std::move(shape)));
  }
  return inputs;
}

std::vector<int64_t> Sizes(int64_t largest, bool brief) {
  std::vector<int64_t> sizes = {1};
  if (largest > 1) sizes.push_back(largest);
  if (brief) return sizes;
  for (int64_t size = 2; size < largest; size *= 2) sizes.push_back(size);
  for (int64_t size = 3; size < std::min(largest, kMostSizes); ++size) {
    if (!std::has_single_bit(static_cast<uint64_t>(size))) sizes.push_back(size);
  }
  return sizes;
}

Batch MakeBatch(const ModelConfig& config, const WarmupRun& run) {
  Batch batch;
  batch.rows = run.rows;
  for (int64_t i = 0; i < run.rows; ++i) {
    auto request = std::make_unique<InferRequest>([](const Result<InferResponse>&) {});
    for (const Tensor& input : run.row) request->inputs.push_back({input.type, input.shape, input.bytes});
    request->group = GroupOf(config, *request);
    batch.requests.push_back(std::move(request));
  }
  return batch;
}

// How one execution went. `contradiction`: the model and the configuration cannot both be right.
struct Outcome {
  Status status;
  bool contradiction = false;
};

Outcome RunOnce(const WarmupTarget& target, const WarmupRun& run) {
  BatchRun ran = target.runner.Begin(MakeBatch(target.config, run), run.rows);
  target.runner.End(ran);
  if (ran.status.code() == StatusCode::kInvalidArgument) return {ran.status, true};
  // A made-up extent of 1 may lead to other outputs than real traffic; a fixed shape with one row may not.
  const bool contradiction =
      !ran.status.ok() && ran.unfit_outputs && run.rows == 1 && !target.config.HasVariableInput();
  return {std::move(ran.status), contradiction};
}

}  // namespace

Result<std::vector<WarmupRun>> PlanWarmup(const ModelConfig& config, bool brief) {
  std::vector<WarmupRun> plan;
  std::vector<Tensor> row = ZeroRow(config);
  for (const WarmupSample& sample : config.warmup) {
    Result<std::vector<Tensor>> sample_row = SampleRow(config, sample);
    if (!sample_row.ok()) return sample_row.status();
    if (plan.empty()) row = *sample_row;
    plan.push_back({sample.name, sample.batch_size, sample.count, std::move(sample_row).value()});
  }
  for (const int64_t size : Sizes(config.max_rows(), brief && !config.cuda_graphs)) {
    const uint32_t runs = size == 1 && !brief ? kFirstRuns : 1;
    plan.push_back({"", size, config.cuda_graphs ? kRunsUntilGraph : runs, row});
  }
  return plan;
}

Status RunWarmup(const WarmupTarget& target, std::span<const WarmupRun> plan, Duration budget) {
  const ModelConfig& config = target.config;
  const TimePoint start = target.clock.Now();
  for (size_t i = 0; i < plan.size(); ++i) {
    const WarmupRun& run = plan[i];
    const bool own_size = run.sample.empty();
    if (own_size && target.clock.Now() - start > budget) {
      LogWarning(StrCat("model '", config.name, "': warm-up budget used up, ", plan.size() - i, " of ",
                        config.max_rows(), " batch sizes are not warmed"));
      return Status();
    }
    for (uint32_t n = 0; n < run.count; ++n) {
      if (target.stopping) return UnavailableError("the server is stopping");
      const Outcome outcome = RunOnce(target, run);
      if (outcome.status.ok()) continue;
      if (!own_size) return outcome.status.WithPrefix(StrCat("model_warmup '", run.sample, "': "));
      if (outcome.contradiction) return outcome.status;
      const char* advice =
          config.warmup.empty() ? " (the inputs were zeros; describe usable ones in model_warmup)" : "";
      LogWarning(StrCat("model '", config.name, "': warm-up of ", run.rows, " rows ended with: ",
                        outcome.status.message(), advice, "; further batch sizes are not warmed"));
      return Status();
    }
  }
  return Status();
}

ExecutionSizes MeasureSizes(const WarmupTarget& target, const WarmupRun& run, TimePoint deadline) {
  if (!target.config.combines() || !target.config.round_batch_sizes || target.config.HasVariableInput()) return {};
  WarmupRun timed = run;
  const TimedRun time = [&](int64_t rows) -> std::optional<Duration> {
    const TimePoint start = target.clock.Now();
    if (start > deadline || target.stopping) return std::nullopt;
    timed.rows = rows;
    if (!RunOnce(target, timed).status.ok()) return std::nullopt;
    return target.clock.Now() - start;
  };
  ExecutionSizes sizes = MeasureExecutionSizes(target.config.max_rows(), time);
  for (const auto& [rows, to] : sizes.rounded()) {
    LogInfo(StrCat("model '", target.config.name, "': a batch of ", rows, " is executed as ", to,
                   ", which takes less time"));
  }
  return sizes;
}

}  // namespace ferry
