#include "ferry/model_version.h"

#include "execution/batch_group.h"
#include "execution/completion_pool.h"
#include "execution/instance.h"
#include "execution/response_order.h"

namespace ferry {

struct ModelVersion::Loaded {
  Device& device;
  std::unique_ptr<BackendModel> model;
  std::optional<ExecutionSizes> sizes;  // by the first instance, for all there
};

namespace {

BatchLimits LimitsFor(const ModelConfig& config) {
  BatchLimits limits;
  limits.max_rows = config.max_rows();
  if (config.combines()) {
    limits.combine = true;
    limits.preferred_rows = config.dynamic_batching->preferred_batch_sizes;
    limits.max_delay = config.dynamic_batching->max_queue_delay;
  }
  return limits;
}

LevelPolicy PolicyFor(const QueuePolicy& configured, LevelPolicy policy) {
  if (configured.max_queue_size > 0) policy.max_requests = configured.max_queue_size;
  policy.timeout = configured.default_timeout;
  policy.allow_override = configured.allow_timeout_override;
  if (configured.timeout_action == QueuePolicy::TimeoutAction::kDelay)
    policy.on_timeout = LevelPolicy::OnTimeout::kDelay;
  return policy;
}

// `limits` are the server's, for what the configuration leaves open.
QueueLimits LimitsFor(const ModelConfig& config, QueueLimits limits) {
  if (!config.dynamic_batching) return limits;
  const DynamicBatching& batching = *config.dynamic_batching;
  if (batching.priority_levels > 0) {
    limits.levels = batching.priority_levels;
    limits.default_level = batching.default_priority_level;
  }
  for (const auto& [level, policy] : batching.priority_queue_policies) {
    limits.level_policies[level] = PolicyFor(policy, limits.policy);
  }
  limits.policy = PolicyFor(batching.default_queue_policy, limits.policy);
  return limits;
}

std::shared_ptr<ResponseOrder> OrderFor(const ModelConfig& config, CompletionPool& pool) {
  const bool ordered = config.dynamic_batching && config.dynamic_batching->preserve_ordering;
  if (!ordered) return nullptr;
  return std::make_shared<ResponseOrder>([&pool](std::function<void()> task) { pool.Post(std::move(task)); });
}

}  // namespace

ModelVersion::ModelVersion(ModelConfig config, int64_t version, Environment environment, Options options)
    : config_(std::move(config)),
      version_(version),
      environment_(environment),
      options_(std::move(options)),
      order_(OrderFor(config_, environment.completions)),
      batcher_(LimitsFor(config_), LimitsFor(config_, options_.queue),
               {environment_.clock, statistics_, environment_.timer, environment_.budget}) {}

ModelVersion::~ModelVersion() { Stop(); }

Status ModelVersion::Start(Backend& backend) {
  for (const Placement placement : config_.instances) {
    if (!loaded_.contains(placement)) FERRY_RETURN_IF_ERROR(LoadOn(backend, placement));
    FERRY_RETURN_IF_ERROR(AddInstance(placement, *loaded_.at(placement)));
  }
  return Status();
}

Status ModelVersion::LoadOn(Backend& backend, Placement placement) {
  const Result<Device*> device = environment_.devices.At(placement);
  if (!device.ok()) return device.status();
  Result<std::unique_ptr<BackendModel>> model = backend.Load(config_, options_.path, **device, options_.threads);
  if (!model.ok()) return model.status();
  loaded_[placement] = std::make_unique<Loaded>(Loaded{**device, std::move(model).value(), std::nullopt});
  return Status();
}

Status ModelVersion::AddInstance(Placement placement, Loaded& loaded) {
  Result<std::unique_ptr<ModelInstance>> instance = loaded.model->CreateInstance();
  if (!instance.ok()) return instance.status();
  // One after the other, and shared weights by the first alone: several at once would all wait for one compiler.
  Result<std::vector<WarmupRun>> plan = PlanWarmup(config_, /*brief=*/loaded.sizes && loaded.model->SharesWeights());
  if (!plan.ok()) return plan.status();
  const Instance::Parts parts{config_,
                              loaded.device,
                              batcher_,
                              statistics_,
                              environment_.completions,
                              environment_.outputs,
                              environment_.clock,
                              environment_.stopping,
                              options_.warmup_budget,
                              [this, placement](const Status& reason) {
                                if (environment_.device_lost) environment_.device_lost(placement, reason);
                              }};
  instances_.push_back(std::make_unique<Instance>(parts, std::move(instance).value(),
                                                  Instance::Preparation{std::move(plan).value(), loaded.sizes}));
  Result<ExecutionSizes> measured = instances_.back()->WaitUntilWarm();
  if (!measured.ok()) return measured.status();
  loaded.sizes = std::move(measured).value();
  return Status();
}

void ModelVersion::Submit(std::unique_ptr<InferRequest> request) {
  request->group = GroupOf(config_, *request);
  if (order_) order_->Enter(*request);
  batcher_.Submit(std::move(request));
}

void ModelVersion::Stop() {
  batcher_.Close();
  instances_.clear();
  batcher_.Retire();
}

}  // namespace ferry
