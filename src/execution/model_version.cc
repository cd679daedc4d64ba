#include "ferry/model_version.h"

#include "execution/instance.h"

namespace ferry {

namespace {

BatchLimits LimitsFor(const ModelConfig& config) {
  BatchLimits limits;
  limits.max_rows = config.max_rows();
  if (config.dynamic_batching && config.batches()) {
    limits.combine = true;
    limits.preferred_rows = config.dynamic_batching->preferred_batch_sizes;
    limits.max_delay = config.dynamic_batching->max_queue_delay;
  }
  return limits;
}

QueueLimits LimitsFor(const ModelConfig& config, QueueLimits limits) {
  if (config.max_queue_size) limits.max_requests = *config.max_queue_size;
  return limits;
}

}  // namespace

ModelVersion::ModelVersion(ModelConfig config, int64_t version, Environment environment, Options options)
    : config_(std::move(config)),
      version_(version),
      environment_(environment),
      options_(std::move(options)),
      batcher_(LimitsFor(config_), LimitsFor(config_, options_.queue), environment_.clock, statistics_) {}

ModelVersion::~ModelVersion() { Stop(); }

Status ModelVersion::Start(Backend& backend) {
  Result<std::unique_ptr<BackendModel>> model = backend.Load(config_, options_.path, options_.threads);
  if (!model.ok()) return model.status();
  model_ = std::move(model).value();
  const Instance::Parts parts{config_,
                              batcher_,
                              statistics_,
                              environment_.completions,
                              environment_.clock,
                              environment_.stopping,
                              options_.warmup_budget};
  for (int i = 0; i < config_.instance_count; ++i) {
    Result<std::unique_ptr<ModelInstance>> instance = model_->CreateInstance();
    if (!instance.ok()) return instance.status();
    // One after the other, and shared weights by the first alone: several at once would all wait for one compiler.
    Result<std::vector<WarmupRun>> plan = PlanWarmup(config_, /*brief=*/i > 0 && model_->SharesWeights());
    if (!plan.ok()) return plan.status();
    instances_.push_back(std::make_unique<Instance>(parts, std::move(instance).value(), std::move(plan).value()));
    FERRY_RETURN_IF_ERROR(instances_.back()->WaitUntilWarm());
  }
  return Status();
}

void ModelVersion::Stop() {
  batcher_.Close();
  instances_.clear();
}

}  // namespace ferry
