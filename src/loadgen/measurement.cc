#include "loadgen/measurement.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "ferry/version.h"
#include "loadgen/arrivals.h"
#include "loadgen/connection.h"
#include "loadgen/inference_server.h"
#include "loadgen/load_validity.h"
#include "loadgen/report_table.h"
#include "loadgen/request_data.h"
#include "loadgen/server_side.h"
#include "loadgen/slo_search.h"
#include "loadgen/trace.h"

namespace ferry {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kConnectPatience = seconds(10);
// One batch size of the warm-up.
constexpr Duration kSizeTime = milliseconds(300);
constexpr int kMostThreads = 4;

int Cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

std::string NowInUtc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "";
}

HostDescription DescribeHost() {
  utsname system{};
  uname(&system);
  return {system.nodename, CpuName(), Cores(), StrCat(system.sysname, " ", system.release)};
}

Result<RequestDataOptions> DataOptions(const MeasureOptions& options) {
  RequestDataOptions data;
  data.source = options.input_data;
  data.batch_size = options.batch;
  data.distinct = options.distinct;
  data.seed = options.seed;
  data.string_length = options.string_length;
  data.class_name = options.model;
  for (const std::string& text : options.shapes) {
    auto shape = ParseShapeOption(text);
    if (!shape.ok()) return shape.status();
    data.shapes.insert(std::move(shape).value());
  }
  for (const std::string& text : options.ranges) {
    auto range = ParseRangeOption(text);
    if (!range.ok()) return range.status();
    data.ranges.insert(std::move(range).value());
  }
  for (const std::string& text : options.parameters) {
    auto parameter = ParseRequestParameter(text);
    if (!parameter.ok()) return parameter.status();
    data.parameters.push_back(std::move(parameter).value());
  }
  return data;
}

}  // namespace

Measurement::Measurement(MeasureOptions options, StopSignal& stop, ShowLine show)
    : options_(std::move(options)), stop_(stop), show_(std::move(show)) {}

Measurement::~Measurement() = default;

Status Measurement::Prepare() {
  Result<ConnectionOptions> connection = ReadConnection(options_);
  if (!connection.ok()) return connection.status();
  connection_ = std::move(connection).value();
  server_ = std::make_unique<InferenceServer>(connection_);
  FERRY_RETURN_IF_ERROR(Describe());
  FERRY_RETURN_IF_ERROR(MakeMix());
  FERRY_RETURN_IF_ERROR(ReadTrace());
  FERRY_RETURN_IF_ERROR(ConnectWorkers());
  return TryOne();
}

Status Measurement::Describe() {
  FERRY_RETURN_IF_ERROR(server_->CheckReady(options_.model, options_.version));
  const auto metadata = server_->Metadata(options_.model, options_.version);
  if (!metadata.ok()) return metadata.status();
  const auto config = server_->Config(options_.model, options_.version);
  if (!config.ok()) return config.status();
  if (*config) config_text_ = (*config)->DebugString();
  Result<ModelDescription> model = DescribeModel(*metadata, *config ? &**config : nullptr, options_.version);
  if (!model.ok()) return model.status();
  model_ = std::move(model).value();
  if (model_.decoupled)
    return InvalidArgumentError(StrCat("model '", options_.model, "' is decoupled, which needs streams"));
  return Status();
}

Status Measurement::MakeMix() {
  const Result<RequestDataOptions> data = DataOptions(options_);
  if (!data.ok()) return data.status();
  const Result<std::vector<PreparedRequest>> requests = MakeRequests(model_, *data);
  if (!requests.ok()) return requests.status();
  mix_.classes = {options_.model};
  for (const PreparedRequest& request : *requests) {
    const grpc::Slice slice(request.message);
    mix_.requests.push_back({grpc::ByteBuffer(&slice, 1), 0});
  }
  return Status();
}

Status Measurement::ReadTrace() {
  if (options_.trace.empty()) return Status();
  TraceOptions how;
  how.speed = options_.trace_speed;
  how.seed = options_.seed;
  std::ifstream file(options_.trace);
  if (!file) return NotFoundError(StrCat("cannot read ", options_.trace));
  const Result<std::vector<TraceRequest>> requests = ferry::ReadTrace(file, how);
  if (!requests.ok()) return requests.status().WithPrefix(StrCat(options_.trace, ": "));
  for (const TraceRequest& request : *requests) trace_.push_back(request.at);
  if (trace_.empty()) return InvalidArgumentError(StrCat("trace ", options_.trace, " has no request"));
  return Status();
}

Status Measurement::ConnectWorkers() {
  const int threads = options_.threads > 0 ? options_.threads : std::clamp(Cores() / 2, 1, kMostThreads);
  for (int i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<LoadWorker>(connection_));
    FERRY_RETURN_IF_ERROR(workers_.back()->Connect(kConnectPatience));
  }
  return Status();
}

// What every request would be refused for is better told once, and before.
Status Measurement::TryOne() {
  InferCaller caller(connection_);
  caller.Start(mix_.requests.front().message, std::chrono::steady_clock::now(), 0);
  Status status;
  const auto deadline = std::chrono::steady_clock::now() + seconds(60);
  bool ended = false;
  while (!ended) {
    const bool one = caller.Next(ended ? kNever : deadline, [&](const EndedCall& call) {
      ended = true;
      if (call.status.ok()) return;
      status = InvalidArgumentError(StrCat("the server does not take the request: ", CodeName(call.status.error_code()),
                                           ": ", call.status.error_message()));
    });
    if (!one) caller.CancelAll();
  }
  return status;
}

std::vector<LoadShape> Measurement::Shapes() const {
  std::vector<LoadShape> shapes;
  if (!trace_.empty()) {
    const double length = std::chrono::duration<double>(trace_.back()).count();
    shapes.push_back({LoadShape::Kind::kTrace, length > 0 ? static_cast<double>(trace_.size()) / length : 1, "trace"});
    return shapes;
  }
  for (const double rate : options_.rates) {
    const auto pattern = ParseArrivals(options_.arrivals, rate, options_.warmup + options_.duration);
    shapes.push_back({LoadShape::Kind::kRate, rate, pattern.ok() ? pattern->Name() : options_.arrivals});
  }
  std::vector<double> concurrencies = options_.concurrencies;
  if (shapes.empty() && concurrencies.empty()) {
    concurrencies = {1, 4, 16, 64};
    // Where a server that batches is at its best: while one batch computes, the next is there.
    const auto best = static_cast<double>(2 * model_.max_batch_size.value_or(0) * model_.instances.value_or(1));
    if (best > 0) concurrencies.push_back(std::ceil(best / static_cast<double>(options_.batch)));
    std::ranges::sort(concurrencies);
    concurrencies.erase(std::unique(concurrencies.begin(), concurrencies.end()), concurrencies.end());
  }
  for (const double concurrency : concurrencies) {
    shapes.push_back({LoadShape::Kind::kConcurrency, concurrency, "closed"});
  }
  return shapes;
}

LoadPlan Measurement::PlanFor(const LoadShape& shape) const {
  LoadPlan plan;
  plan.shape = shape;
  plan.mix = mix_;
  plan.rows = options_.batch;
  plan.seed = options_.seed;
  plan.warmup = options_.warmup;
  plan.duration = options_.duration;
  plan.wait_when_full = options_.wait_when_full;
  if (!options_.max_outstanding.empty()) {
    plan.most_under_way = ParseNumber<size_t>(options_.max_outstanding).value_or(SIZE_MAX);
  }
  if (shape.kind == LoadShape::Kind::kTrace) {
    plan.warmup = Duration::zero();
    plan.duration = trace_.back() + Duration(1);
    plan.arrivals = [this](uint64_t) {
      return [this, next = size_t{0}]() mutable {
        return next < trace_.size() ? std::optional<Duration>(trace_[next++]) : std::nullopt;
      };
    };
  } else if (shape.kind == LoadShape::Kind::kRate) {
    const auto pattern = ParseArrivals(options_.arrivals, shape.value, plan.warmup + plan.duration);
    plan.arrivals = [pattern = *pattern](uint64_t seed) {
      return
          [arrivals = std::make_shared<Arrivals>(pattern, seed)] { return std::optional<Duration>(arrivals->Next()); };
    };
  }
  return plan;
}

LoadSurroundings Measurement::Surroundings(const LoadShape& shape) const {
  LoadSurroundings surroundings;
  surroundings.watch_server = [this]() -> ServerWatch {
    return [this, before = server_->Statistics(options_.model, options_.version)]() -> std::optional<ServerSide> {
      const auto after = before ? server_->Statistics(options_.model, options_.version) : std::nullopt;
      return after ? std::optional<ServerSide>(Difference(*before, *after)) : std::nullopt;
    };
  };
  surroundings.wait_or_stop = [this](TimePoint time) { return stop_.WaitUntil(time); };
  surroundings.show = [this, shape](const LoadStatus& status) { show_(LiveLine(shape, status)); };
  return surroundings;
}

LoadPoint Measurement::RunPoint(const LoadPlan& plan) { return RunLoad(workers_, plan, Surroundings(plan.shape)); }

// Each batch size that the server may form pays once for what libraries set up for it.
void Measurement::WarmUpSizes() {
  const int64_t most = model_.max_batch_size.value_or(0) / options_.batch;
  if (options_.warmup <= Duration::zero()) return;
  for (int64_t size = 1; size <= most && !stop_.came(); size *= 2) {
    LoadPlan plan = PlanFor({LoadShape::Kind::kConcurrency, static_cast<double>(size), "closed"});
    plan.warmup = Duration::zero();
    plan.duration = kSizeTime;
    LoadSurroundings quiet = Surroundings(plan.shape);
    quiet.show = [](const LoadStatus&) {};
    RunLoad(workers_, plan, quiet);
  }
}

// Half of what the server does with as many requests under way as suit it.
double Measurement::GuessRate() {
  const int64_t best = 2 * model_.max_batch_size.value_or(0) * model_.instances.value_or(1) / options_.batch;
  LoadPlan plan = PlanFor({LoadShape::Kind::kConcurrency, static_cast<double>(std::max<int64_t>(best, 8)), "closed"});
  plan.warmup = std::min<Duration>(options_.warmup, seconds(1));
  plan.duration = seconds(3);
  return std::max(RunPoint(plan).requests_per_second / 2, 1.0);
}

ObjectiveResult Measurement::Search(Duration bound, BenchResult& result) {
  SloOptions search_options;
  search_options.quantile = result.measured_quantile;
  search_options.bound = bound;
  search_options.first_rate = GuessRate();
  search_options.lowest_rate = std::min(1.0, search_options.first_rate);
  SloSearch search(search_options);
  for (auto probe = search.Next(); probe && !stop_.came(); probe = search.Next()) {
    LoadPlan plan = PlanFor({LoadShape::Kind::kRate, probe->rate, options_.arrivals});
    plan.seed += static_cast<uint64_t>(probe->number);
    plan.duration = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(static_cast<double>(probe->at_least) / probe->rate));
    LoadPoint point = RunPoint(plan);
    search.Report({point.offered, point.response.CountAbove(bound), point.failed, point.dropped,
                   !GeneratorFellBehind(point), BacklogGrew(point)});
    if (probe->confirms) result.points.push_back(std::move(point));
  }
  ObjectiveResult objective = search.Result();
  if (stop_.came()) objective.explanation = StrCat("stopped before the search was over; ", objective.explanation);
  return objective;
}

BenchResult Measurement::Run() {
  BenchResult result;
  result.version = kVersion;
  result.started = NowInUtc();
  result.arguments = options_.arguments;
  result.seed = options_.seed;
  result.client = DescribeHost();
  result.target = options_.url;
  result.server = server_->NameAndVersion();
  result.model = options_.model;
  result.model_version = options_.version;
  result.model_config = config_text_;
  result.measured_quantile = options_.percentile / 100;
  WarmUpSizes();
  if (options_.objective) {
    result.objective = Search(*options_.objective, result);
    return result;
  }
  for (const LoadShape& shape : Shapes()) {
    if (stop_.came()) break;
    result.points.push_back(RunPoint(PlanFor(shape)));
  }
  return result;
}

}  // namespace ferry
