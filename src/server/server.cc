#include "ferry/server.h"

#include <algorithm>
#include <thread>

#include "backend/torchscript_backend.h"
#include "base/log.h"
#include "base/strings.h"
#include "batching/expiry_timer.h"
#include "batching/server_budget.h"
#include "execution/completion_pool.h"
#include "execution/output_memory.h"
#include "ferry/clock.h"
#include "ferry/model_repository.h"
#include "frontend/admission.h"
#include "frontend/grpc/grpc_server.h"
#include "frontend/http/metrics_server.h"
#include "metrics/prometheus_text.h"
#include "server/cpu_count.h"

namespace ferry {

namespace {

constexpr int kCompletionThreads = 2;
// After the exit timeout, for a running batch to end; and for idle connections to take note of the end.
constexpr Duration kGrace = std::chrono::seconds(1);

ModelRepository::Options RepositoryOptions(const ServerOptions& options, int cores) {
  QueueLimits queue;
  queue.policy.max_requests = static_cast<size_t>(options.max_queue_size);
  queue.max_bytes = options.max_queue_bytes;
  return {options.model_repositories, options.model_load_threads, cores, queue, options.warmup_budget};
}

ServerBudget::Limits BudgetLimits(const ServerOptions& options) {
  return {static_cast<size_t>(options.max_server_queue_size), options.max_server_queue_bytes};
}

GrpcServer::Options GrpcOptions(const ServerOptions& options, int cores) {
  const int threads = options.grpc_infer_threads > 0 ? options.grpc_infer_threads : std::max(1, cores / 2);
  return {options.grpc_address, options.grpc_port,       threads, static_cast<int>(options.grpc_max_message_bytes),
          options.server_id,    options.strict_readiness};
}

std::string MetricsText(const Admission& admission, const OutputMemory& outputs, const ModelRepository& repository,
                        TimePoint now) {
  std::vector<ModelMetrics> models;
  for (const ModelHandle& model : repository.ReadyModels()) {
    const TimePoint oldest = model->OldestApprox().value_or(now);
    models.push_back({model->config().name, model->version(), model->config().metric_tags,
                      model->statistics().Snapshot(), model->PendingApprox(),
                      std::max(now - oldest, Duration::zero())});
  }
  return PrometheusText({admission.refused(), admission.calls(), admission.bytes(), outputs.held()}, models);
}

}  // namespace

// In the order of construction; what comes later uses what came before.
struct Server::Parts {
  explicit Parts(ServerOptions o)
      : options(std::move(o)),
        cores(AvailableCores()),
        backend(MakeTorchScriptBackend()),
        timer(clock),
        budget(BudgetLimits(options)),
        outputs(options.max_held_output_bytes),
        completions(kCompletionThreads),
        admission({options.max_inflight_calls, options.max_inflight_bytes}),
        repository(RepositoryOptions(options, cores),
                   {{{"pytorch_libtorch", backend.get()}}, clock, devices, completions, &timer, &budget, &outputs},
                   {[this](const std::string& model, bool ready) { grpc.SetModelServing(model, ready); },
                    [this] { OnLoaded(); }, [this](const Status&) { OnGpuLost(); }}),
        grpc(GrpcOptions(options, cores), repository, admission, outputs, clock),
        metrics({options.metrics_address, options.metrics_port},
                [this] { return MetricsText(admission, outputs, repository, clock.Now()); }) {}

  // The repository's threads report to the gRPC server, which is destroyed before it.
  ~Parts() { repository.Stop(); }

  std::string Ports() const {
    std::string ports = StrCat("grpc=", options.grpc_address, ":", grpc.port());
    if (options.allow_metrics) ports += StrCat(" metrics=", options.metrics_address, ":", metrics.port());
    return ports;
  }

  void OnLoaded() {
    if (admission.closed()) return;  // the loads were cut short by a stop
    grpc.UpdateServing();
    const size_t served = repository.ReadyModels().size();
    LogInfo(StrCat("ready: ", Ports(), " models=", served, " failed=", repository.Index(false).size() - served));
    if (options.exit_on_error && !repository.AllReady()) failed();
  }

  void OnGpuLost() {
    if (admission.closed()) return;
    grpc.UpdateServing();
    LogError("a GPU is dead, and only a new process can use it again");
    if (options.exit_on_gpu_fault) failed();
  }

  // Ends what is left at the exit timeout: what waits is failed, and clients that do not take their answers are cut
  // off. False when something is left even so.
  bool CutOff() {
    LogWarning("the exit timeout has passed; requests that still wait are failed");
    repository.AbortQueues(UnavailableError("the server is shutting down"));
    // Closing calls takes until every call has its answer, which a running batch may keep from it for long.
    std::thread closing([this] { grpc.CloseCalls(kGrace); });
    const bool empty = admission.WaitUntilEmpty(clock, clock.Now() + 2 * kGrace);
    if (empty) {
      closing.join();
    } else {
      closing.detach();
    }
    return empty;
  }

  const ServerOptions options;
  const int cores;
  std::function<void()> failed;
  SystemClock clock;
  const std::unique_ptr<Backend> backend;
  Devices devices;
  ExpiryTimer timer;
  ServerBudget budget;
  OutputMemory outputs;
  CompletionPool completions;  // its last task may hold the last handle of a model, which uses what is above
  Admission admission;
  ModelRepository repository;
  GrpcServer grpc;
  MetricsServer metrics;
};

Server::Server(ServerOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

Server::~Server() = default;

Status Server::Start(std::function<void()> failed) {
  Parts& parts = *parts_;
  parts.failed = std::move(failed);
  FERRY_RETURN_IF_ERROR(parts.grpc.Start());
  if (parts.options.allow_metrics) FERRY_RETURN_IF_ERROR(parts.metrics.Start());
  LogInfo(StrCat("listening: ", parts.Ports()));
  return parts.repository.Start();
}

Server::Drained Server::Drain() {
  Parts& parts = *parts_;
  LogInfo("stopping: accepted requests are finished, new ones are refused");
  const TimePoint deadline = parts.clock.Now() + parts.options.exit_timeout;
  parts.admission.Close();
  parts.grpc.UpdateServing();
  parts.repository.PrepareStop();
  if (!parts.admission.WaitUntilEmpty(parts.clock, deadline) && !parts.CutOff()) {
    LogError("a batch is still running; its requests are lost");
    return Drained::kWorkAbandoned;
  }
  if (!parts.repository.WaitUntilLoaded(deadline)) {
    LogWarning("a model is still loading; the load is abandoned");
    return Drained::kLoadCutShort;
  }
  if (parts.repository.HasLostModels()) return Drained::kGpuLost;
  // Models first: what is left of their loads still reports to the gRPC server.
  parts.repository.Stop();
  parts.grpc.Stop(kGrace);
  parts.metrics.Stop();
  LogInfo("stopped");
  return Drained::kClean;
}

}  // namespace ferry
