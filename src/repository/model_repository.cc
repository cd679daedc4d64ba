#include "ferry/model_repository.h"

#include <algorithm>
#include <filesystem>
#include <new>

#include "base/log.h"
#include "base/strings.h"
#include "repository/config_reader.h"
#include "repository/version_scanner.h"

namespace ferry {

// A model whose configuration is good, with the versions to load.
struct ModelRepository::Candidate {
  ModelConfig config;
  std::vector<int64_t> versions;
};

namespace {

using Folders = std::map<std::string, std::vector<std::string>>;  // model name to its folders, one if all is well

Status FindModelFolders(const std::string& repository, Folders* folders) {
  std::error_code error;
  std::filesystem::directory_iterator entries(repository, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code unreadable;
    // A hidden folder belongs to an editor, to git or to a volume mount, never to a user's model.
    if (name.starts_with('.') || !entries->is_directory(unreadable)) continue;
    (*folders)[name].push_back(entries->path().string());
  }
  if (error) return UnavailableError(StrCat("cannot read the model repository ", repository, ": ", error.message()));
  return Status();
}

// Whatever a load runs out of, memory or threads, the other models go on.
Status StartGuarded(ModelVersion& version, Backend& backend) {
  try {
    return version.Start(backend);
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError("out of memory while loading");
  } catch (const std::exception& error) {
    return InternalError(StrCat("the load failed: ", error.what()));
  }
}

std::string Describe(const std::string& model, int64_t version) { return StrCat("'", model, "' version ", version); }

}  // namespace

std::string_view ModelStateName(ModelState state) {
  switch (state) {
    case ModelState::kReady:
      return "READY";
    case ModelState::kUnavailable:
      return "UNAVAILABLE";
    case ModelState::kLoading:
      return "LOADING";
    case ModelState::kUnloading:
      return "UNLOADING";
    case ModelState::kUnknown:
      break;
  }
  return "UNKNOWN";
}

ModelRepository::ModelRepository(Options options, Environment environment, Callbacks callbacks)
    : options_(std::move(options)), environment_(std::move(environment)), callbacks_(std::move(callbacks)) {}

ModelRepository::~ModelRepository() { Stop(); }

Status ModelRepository::Start() {
  Folders folders;
  for (const std::string& directory : options_.directories) {
    FERRY_RETURN_IF_ERROR(FindModelFolders(directory, &folders));
  }
  for (const auto& [name, paths] : folders) callbacks_.readiness(name, false);
  const std::vector<Candidate> candidates = ReadCandidates(folders);
  EnqueueLoads(candidates);
  if (candidates.empty()) callbacks_.loaded();  // with nothing to load, no load will say so
  for (int i = 0; i < std::max(options_.load_threads, 1); ++i) loaders_.emplace_back([this] { LoadLoop(); });
  return Status();
}

std::vector<ModelRepository::Candidate> ModelRepository::ReadCandidates(const Folders& folders) {
  std::vector<Candidate> candidates;
  for (const auto& [name, paths] : folders) {
    if (!IsModelName(name)) {
      Fail(name, "a model's name may hold only letters, digits, '_', '-' and '.'");
    } else if (paths.size() > 1) {
      Fail(name, StrCat("the model is in several repositories: ", StrJoin(paths, ", ")));
    } else if (Result<ReadConfig> read = ReadModelConfig(paths.front(), name, environment_.devices.gpus());
               !read.ok()) {
      Fail(name, read.status().message());
    } else if (Result<ScannedVersions> scanned = ScanVersions(paths.front()); !scanned.ok()) {
      Fail(name, scanned.status().message());
    } else {
      for (const std::string& warning : read->warnings) LogWarning(warning);
      for (const std::string& warning : scanned->warnings) LogWarning(warning);
      std::vector<int64_t> versions = ChooseVersions(read->config.version_policy, scanned->versions);
      if (versions.empty()) {
        Fail(name, StrCat(paths.front(), ": at least one version must be available as version_policy says, found [",
                          StrJoin(scanned->versions, ","), "]"));
      } else {
        candidates.push_back({std::move(read->config), std::move(versions)});
      }
    }
  }
  return candidates;
}

void ModelRepository::EnqueueLoads(const std::vector<Candidate>& candidates) {
  // The machine is shared fairly: as many threads for each instance as leaves none over. One on a GPU only waits for it.
  size_t instances = 0;
  for (const Candidate& c : candidates) {
    instances += c.versions.size() * static_cast<size_t>(std::ranges::count(c.config.instances, kOnHost));
  }
  const int threads = std::max(1, options_.cores / static_cast<int>(std::max<size_t>(instances, 1)));
  MutexLock lock(mutex_);
  for (const Candidate& candidate : candidates) {
    for (const int64_t version : candidate.versions) {
      models_[candidate.config.name].versions[version].state = ModelState::kLoading;
      jobs_.push_back({candidate.config, version, threads});
      ++loading_;
    }
  }
  started_ = true;
}

void ModelRepository::Fail(const std::string& model, std::string reason) {
  LogError(StrCat("model ", Quoted(model), " is not served: ", reason));
  MutexLock lock(mutex_);
  models_[model].reason = std::move(reason);
}

void ModelRepository::LoadLoop() {
  for (;;) {
    LoadJob job;
    {
      MutexLock lock(mutex_);
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    Load(job);
  }
}

void ModelRepository::Load(const LoadJob& job) {
  const std::string path = StrCat(job.config.directory, "/", job.version, "/", job.config.default_model_filename);
  const TimePoint start = environment_.clock.Now();
  const ModelVersion::Environment environment{
      environment_.clock,       environment_.devices,
      environment_.completions, stopping_,
      environment_.timer,       environment_.budget,
      environment_.outputs,     [this](Placement placement, const Status& reason) { LoseDevice(placement, reason); }};
  auto version =
      std::make_shared<ModelVersion>(job.config, job.version, environment,
                                     ModelVersion::Options{path, job.threads, options_.queue, options_.warmup_budget});
  std::error_code error;
  Status status;
  if (!std::filesystem::is_regular_file(path, error)) {
    status = UnavailableError(StrCat(path, error ? StrCat(": ", error.message()) : std::string(" is not a file")));
  } else {
    status = StartGuarded(*version, *environment_.backends.at(job.config.platform));
    // What contradicts the model is the configuration's fault, so the message says where that is.
    if (status.code() == StatusCode::kInvalidArgument) {
      status = status.WithPrefix(StrCat(job.config.directory, "/config.pbtxt: "));
    }
  }
  if (!status.ok()) {
    version.reset();
    LogError(StrCat("model ", Describe(job.config.name, job.version), " is not served: ", status.message()));
  } else {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(environment_.clock.Now() - start);
    LogInfo(StrCat("model ", Describe(job.config.name, job.version), " is ready after ", took.count(), " ms"));
  }
  Finish(job, std::move(version), status);
}

void ModelRepository::Finish(const LoadJob& job, ModelHandle handle, const Status& status) {
  bool last = false;
  {
    MutexLock lock(mutex_);
    Version& version = models_[job.config.name].versions[job.version];
    version.state = status.ok() ? ModelState::kReady : ModelState::kUnavailable;
    version.reason = status.message();
    version.handle = std::move(handle);
    last = --loading_ == 0;
    changed_.NotifyAll();
  }
  // A stop that came meanwhile has hurried those that were ready then.
  if (status.ok() && stopping_) HurryQueues();
  if (status.ok()) callbacks_.readiness(job.config.name, true);
  if (last) callbacks_.loaded();
}

void ModelRepository::LoseDevice(Placement placement, const Status& reason) {
  std::vector<ModelHandle> lost;
  {
    MutexLock lock(mutex_);
    for (auto& [name, model] : models_) {
      for (auto& [number, version] : model.versions) {
        if (!version.handle || std::ranges::count(version.handle->config().instances, placement) == 0) continue;
        lost.push_back(version.handle);
        version = {ModelState::kUnavailable, reason.message(), nullptr};
      }
    }
    lost_.insert(lost_.end(), lost.begin(), lost.end());
  }
  if (lost.empty()) return;
  for (const ModelHandle& handle : lost) {
    const std::string& name = handle->config().name;
    LogError(StrCat("model ", Describe(name, handle->version()), " is lost: ", reason.message()));
    handle->AbortQueue(reason);
    callbacks_.readiness(name, !ReadyVersions(name).empty());
  }
  callbacks_.device_lost(reason);
}

bool ModelRepository::HasLostModels() const {
  MutexLock lock(mutex_);
  return !lost_.empty();
}

bool ModelRepository::WaitUntilLoaded(TimePoint deadline) {
  MutexLock lock(mutex_);
  while (loading_ > 0) {
    if (environment_.clock.Now() >= deadline) return false;
    environment_.clock.WaitUntil(mutex_, changed_, deadline);
  }
  return true;
}

void ModelRepository::PrepareStop() {
  stopping_ = true;
  std::vector<LoadJob> dropped;
  {
    MutexLock lock(mutex_);
    dropped.assign(std::make_move_iterator(jobs_.begin()), std::make_move_iterator(jobs_.end()));
    jobs_.clear();
  }
  for (const LoadJob& job : dropped) Finish(job, nullptr, UnavailableError("the server is stopping"));
  HurryQueues();
}

void ModelRepository::HurryQueues() {
  for (const ModelHandle& handle : ReadyModels()) handle->HurryQueue();
}

void ModelRepository::Stop() {
  PrepareStop();
  for (std::thread& loader : loaders_) loader.join();
  loaders_.clear();
  // The handles stay in place meanwhile, so that a request's completion never holds the last one.
  const std::vector<ModelHandle> handles = ReadyModels();
  for (const ModelHandle& handle : handles) handle->Stop();
  MutexLock lock(mutex_);
  for (auto& [name, model] : models_) {
    for (auto& [number, version] : model.versions) {
      if (version.handle) version = {ModelState::kUnavailable, "unloaded", nullptr};
    }
  }
}

void ModelRepository::AbortQueues(const Status& reason) {
  for (const ModelHandle& handle : ReadyModels()) handle->AbortQueue(reason);
}

Result<ModelHandle> ModelRepository::Find(const std::string& name, std::string_view version) const {
  std::optional<int64_t> number;
  if (!version.empty()) {
    number = ParseNumber<int64_t>(version);
    if (!number || *number < 0) {
      return InvalidArgumentError(StrCat("failed to get model version from ", Quoted(version),
                                         ": a version is a decimal number without sign or leading zeros"));
    }
  }
  MutexLock lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end()) {
    return NotFoundError(StrCat("Request for unknown model: ", Quoted(name), " is not found"));
  }
  const auto& versions = model->second.versions;
  if (number) {
    const auto found = versions.find(*number);
    if (found == versions.end()) {
      return NotFoundError(StrCat("Request for unknown model: ", Quoted(name), " version ", *number, " is not found"));
    }
    if (found->second.handle) return found->second.handle;
    return UnavailableError(
        StrCat("Request for unknown model: ", Quoted(name), " version ", *number, " is not at ready state"));
  }
  for (auto it = versions.rbegin(); it != versions.rend(); ++it) {
    if (it->second.handle) return it->second.handle;
  }
  return NotFoundError(StrCat("Request for unknown model: ", Quoted(name), " has no available versions"));
}

std::vector<ModelHandle> ModelRepository::ReadyModels() const {
  std::vector<ModelHandle> ready;
  MutexLock lock(mutex_);
  for (const auto& [name, model] : models_) {
    for (const auto& [number, version] : model.versions) {
      if (version.handle) ready.push_back(version.handle);
    }
  }
  return ready;
}

std::vector<int64_t> ModelRepository::ReadyVersions(const std::string& name) const {
  std::vector<int64_t> ready;
  MutexLock lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end()) return ready;
  for (const auto& [number, version] : model->second.versions) {
    if (version.handle) ready.push_back(number);
  }
  return ready;
}

std::vector<IndexEntry> ModelRepository::Index(bool ready_only) const {
  std::vector<IndexEntry> index;
  MutexLock lock(mutex_);
  for (const auto& [name, model] : models_) {
    if (model.versions.empty() && !ready_only) index.push_back({name, "", ModelState::kUnavailable, model.reason});
    for (const auto& [number, version] : model.versions) {
      if (ready_only && version.state != ModelState::kReady) continue;
      index.push_back({name, std::to_string(number), version.state, version.reason});
    }
  }
  return index;
}

bool ModelRepository::Loaded() const {
  MutexLock lock(mutex_);
  return started_ && loading_ == 0;
}

bool ModelRepository::AllReady() const {
  MutexLock lock(mutex_);
  if (!started_ || loading_ > 0) return false;
  return std::ranges::all_of(models_, [](const auto& model) {
    return !model.second.versions.empty() && std::ranges::all_of(model.second.versions, [](const auto& version) {
      return version.second.state == ModelState::kReady;
    });
  });
}

}  // namespace ferry
