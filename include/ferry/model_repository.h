#ifndef FERRY_MODEL_REPOSITORY_H_
#define FERRY_MODEL_REPOSITORY_H_

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "ferry/backend.h"
#include "ferry/model_version.h"
#include "ferry/mutex.h"

namespace ferry {

// States of a model version, with the names of the repository extension.
enum class ModelState { kUnknown, kReady, kUnavailable, kLoading, kUnloading };
std::string_view ModelStateName(ModelState state);

// One line of the repository's index.
struct IndexEntry {
  std::string name;
  std::string version;  // empty when the model's configuration could not be read
  ModelState state = ModelState::kUnknown;
  std::string reason;  // why it is not ready
};

// ModelRepository finds the models in its folders, loads them and hands them out.
//
// Guarantees: a model that fails to load leaves the others served, and keeps its reason. A handle stays valid whatever
//             happens to the repository's entry. When a device dies, models with an instance there are not ready any more,
//             whether or not a request has met the failure; they are kept until the repository ends, since what a
//             framework holds on a dead device may end the process when it is freed.
// Threading:  thread-safe. Find() holds a lock only to copy a handle; loads run on the repository's own threads.
// Errors:     of Find(): Triton's, see there.
class ModelRepository {
 public:
  struct Options {
    std::vector<std::string> directories;
    int load_threads = 4;
    // Threads that all instances of all models share, unless a model's parameters say otherwise.
    int cores = 1;
    QueueLimits queue;
    Duration warmup_budget = std::chrono::seconds(30);
  };
  // Called on the repository's threads, without a lock held.
  struct Callbacks {
    // A model is known (not ready), or has become ready.
    std::function<void(const std::string& model, bool ready)> readiness;
    // Every load has ended, well or not.
    std::function<void()> loaded;
    // A device is dead, and what runs there is not served any more. Once for each device, or more often.
    std::function<void(const Status& reason)> device_lost = [](const Status&) {};
  };

  // What the models of the server share; borrowed.
  struct Environment {
    std::map<std::string, Backend*> backends;  // by platform
    Clock& clock;
    Devices& devices;  // where the models run
    CompletionPool& completions;
    ExpiryTimer* timer = nullptr;     // without it what waits expires only when an instance asks for a batch
    ServerBudget* budget = nullptr;   // without it each model's queue has its own bounds alone
    OutputMemory* outputs = nullptr;  // without it nobody counts what outputs hold
  };

  ModelRepository(Options options, Environment environment, Callbacks callbacks);
  ~ModelRepository();

  // Reads every configuration and begins to load; returns before the loads have ended. An error means that a folder
  // given as a repository cannot be read.
  Status Start();

  // The first step of a stop: no load goes on longer than it must, and no request waits for companions.
  void PrepareStop();

  // Waits until each load has ended; false when `deadline` came first.
  bool WaitUntilLoaded(TimePoint deadline);

  // Ends the loads and stops the models; accepted requests are finished first.
  void Stop();

  // Fails what still waits in any queue.
  void AbortQueues(const Status& reason);

  // The version asked for, or the highest one that is ready when `version` is empty.
  //   NOT_FOUND         no such model, no such version, or no version ready and none asked for
  //   UNAVAILABLE       that version is not ready
  //   INVALID_ARGUMENT  `version` is not a decimal number
  Result<ModelHandle> Find(const std::string& name, std::string_view version) const;

  // Whether a model has been given up because its device is dead.
  bool HasLostModels() const;

  // Every version that is ready, by name and version.
  std::vector<ModelHandle> ReadyModels() const;

  // Versions of a model that are ready, ascending.
  std::vector<int64_t> ReadyVersions(const std::string& name) const;

  std::vector<IndexEntry> Index(bool ready_only) const;

  // Every load has ended.
  bool Loaded() const;
  // Every load has ended well.
  bool AllReady() const;

 private:
  struct Version {
    ModelState state = ModelState::kLoading;
    std::string reason;
    ModelHandle handle;  // set while ready
  };
  struct Model {
    std::string reason;  // why it has no versions
    std::map<int64_t, Version> versions;
  };
  struct LoadJob {
    ModelConfig config;
    int64_t version = 0;
    int threads = 1;
  };

  struct Candidate;
  std::vector<Candidate> ReadCandidates(const std::map<std::string, std::vector<std::string>>& folders);
  void EnqueueLoads(const std::vector<Candidate>& candidates);
  void LoadLoop();
  void Load(const LoadJob& job);
  void Finish(const LoadJob& job, ModelHandle handle, const Status& status);
  void Fail(const std::string& model, std::string reason);
  void HurryQueues();
  void LoseDevice(Placement placement, const Status& reason);

  const Options options_;
  const Environment environment_;
  const Callbacks callbacks_;
  std::atomic<bool> stopping_ = false;

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Model, std::less<>> models_ FERRY_GUARDED_BY(mutex_);
  std::deque<LoadJob> jobs_ FERRY_GUARDED_BY(mutex_);
  size_t loading_ FERRY_GUARDED_BY(mutex_) = 0;  // queued or under way
  bool started_ FERRY_GUARDED_BY(mutex_) = false;
  std::vector<ModelHandle> lost_ FERRY_GUARDED_BY(mutex_);  // on dead devices

  std::vector<std::thread> loaders_;
};

}  // namespace ferry

#endif  // FERRY_MODEL_REPOSITORY_H_
