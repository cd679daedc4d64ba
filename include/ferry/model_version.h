#ifndef FERRY_MODEL_VERSION_H_
#define FERRY_MODEL_VERSION_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ferry/backend.h"
#include "ferry/batcher.h"
#include "ferry/model_config.h"
#include "ferry/statistics.h"

namespace ferry {

class CompletionPool;
class Instance;
class OutputMemory;
class ResponseOrder;

// ModelVersion is one version of a model at work: its queue, its instances with their threads, its statistics.
//
// Guarantees: each submitted request is completed exactly once.
// Threading:  Submit() and the accessors from any thread; Start() and Stop() by the owner.
// Ownership:  held by shared_ptr (ModelHandle), so that whoever submits keeps it alive; borrows what Environment names.
class ModelVersion {
 public:
  // What all model versions of a server share.
  struct Environment {
    Clock& clock;
    Devices& devices;
    CompletionPool& completions;
    // Set when the server stops, so that a long warm-up ends early.
    const std::atomic<bool>& stopping;
    ExpiryTimer* timer = nullptr;
    ServerBudget* budget = nullptr;
    OutputMemory* outputs = nullptr;
    // Told by each batch that fails because its device is dead (Device::CheckHealth), on an instance's thread.
    std::function<void(Placement, const Status&)> device_lost = nullptr;
  };
  struct Options {
    std::string path;   // the model file
    int threads = 1;    // of one instance, for one run
    QueueLimits queue;  // where the configuration names none
    Duration warmup_budget = std::chrono::seconds(30);
  };

  ModelVersion(ModelConfig config, int64_t version, Environment environment, Options options);
  ~ModelVersion();

  // Loads the model, makes its instances and warms them up. OK: ready to serve. Takes as long as that takes.
  Status Start(Backend& backend);

  // Finishes what was accepted and ends the instances. Later requests are refused.
  void Stop();

  // From now on nothing waits for companions.
  void HurryQueue() { batcher_.Hurry(); }

  // Fails what still waits with `reason`; what runs already is finished.
  void AbortQueue(const Status& reason) { batcher_.Abort(reason); }

  // Takes a request that was validated against config(). Never blocks.
  void Submit(std::unique_ptr<InferRequest> request);

  // Gives up the request with this ticket if it still waits. What runs already is not interrupted.
  void Cancel(uint64_t ticket) { batcher_.Cancel(ticket); }

  const ModelConfig& config() const { return config_; }
  int64_t version() const { return version_; }
  ModelStatistics& statistics() { return statistics_; }
  const ModelStatistics& statistics() const { return statistics_; }
  size_t PendingApprox() const { return batcher_.PendingApprox(); }
  std::optional<TimePoint> OldestApprox() const { return batcher_.OldestApprox(); }

 private:
  struct Loaded;  // on one device

  Status LoadOn(Backend& backend, Placement placement);
  Status AddInstance(Placement placement, Loaded& loaded);

  const ModelConfig config_;
  const int64_t version_;
  const Environment environment_;
  const Options options_;
  ModelStatistics statistics_;
  std::shared_ptr<ResponseOrder> order_;  // where the configuration asks for it
  Batcher batcher_;
  std::map<Placement, std::unique_ptr<Loaded>> loaded_;
  std::vector<std::unique_ptr<Instance>> instances_;  // last: their threads use the rest
};

// Keeps a model version from being unloaded under a request.
using ModelHandle = std::shared_ptr<ModelVersion>;

}  // namespace ferry

#endif  // FERRY_MODEL_VERSION_H_
