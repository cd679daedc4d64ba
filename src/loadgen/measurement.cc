#include "loadgen/measurement.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <numeric>

#include "base/strings.h"
#include "ferry/version.h"
#include "loadgen/answer_check.h"
#include "loadgen/arrivals.h"
#include "loadgen/connection.h"
#include "loadgen/duration_units.h"
#include "loadgen/host_description.h"
#include "loadgen/inference_server.h"
#include "loadgen/load_validity.h"
#include "loadgen/report_table.h"
#include "loadgen/scenario.h"
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
// Requests under way for a server that does not tell how it batches, or not at all, to have enough to do.
constexpr int64_t kLeastOffline = 64;
// For the answer to a request that is sent alone: the first of a model may take long.
constexpr seconds kAlonePatience(60);
constexpr seconds kMetricsPatience(5);

std::string NowInUtc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
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
  if (!options_.metrics_url.empty()) {
    const Result<std::string> page = FetchPage(options_.metrics_url, kMetricsPatience);
    if (!page.ok()) return page.status().WithPrefix("--metrics-url ");
  }
  const Result<std::vector<ClassDescription>> classes = DescribeClasses(options_);
  if (!classes.ok()) return classes.status();
  Result<PreparedMix> prepared = PrepareMix(*classes, *server_);
  if (!prepared.ok()) return prepared.status();
  prepared_ = *std::move(prepared);
  FERRY_RETURN_IF_ERROR(ReadTrace());
  FERRY_RETURN_IF_ERROR(ReadGaps());
  FERRY_RETURN_IF_ERROR(ConnectWorkers());
  FERRY_RETURN_IF_ERROR(TryEachClass());
  return PrepareCheck();
}

Status Measurement::ReadTrace() {
  if (options_.trace.empty()) return Status();
  TraceOptions how;
  how.speed = options_.trace_speed;
  how.seed = options_.seed;
  how.clip = options_.trace_clip;
  std::ifstream file(options_.trace);
  if (!file) return NotFoundError(StrCat("cannot read ", options_.trace));
  const Result<std::vector<TraceRequest>> requests = ferry::ReadTrace(file, how);
  if (!requests.ok()) return requests.status().WithPrefix(StrCat(options_.trace, ": "));
  const std::vector<std::optional<size_t>> classes = AssignClasses(*requests, ClassNames(prepared_.mix));
  for (size_t i = 0; i < classes.size(); ++i) trace_.push_back({(*requests)[i].at, classes[i]});
  if (trace_.empty()) return InvalidArgumentError(StrCat("trace ", options_.trace, " has no request"));
  return Status();
}

Status Measurement::ReadGaps() {
  if (options_.intervals.empty()) return Status();
  std::ifstream file(options_.intervals);
  if (!file) return NotFoundError(StrCat("cannot read ", options_.intervals));
  Result<std::vector<Duration>> gaps = ReadIntervals(file);
  if (!gaps.ok()) return gaps.status().WithPrefix(StrCat(options_.intervals, ": "));
  gaps_ = *std::move(gaps);
  return Status();
}

Status Measurement::ConnectWorkers() {
  const int threads = options_.threads > 0 ? options_.threads : std::clamp(UsableProcessors() / 2, 1, kMostThreads);
  for (int i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<LoadWorker>(connection_));
    FERRY_RETURN_IF_ERROR(workers_.back()->Connect(kConnectPatience));
  }
  return Status();
}

Result<grpc::ByteBuffer> Measurement::AskAlone(size_t request) {
  const std::unique_ptr<InferCaller> caller = InferCaller::Make(connection_);
  Result<grpc::ByteBuffer> answer = UnavailableError(StrCat("no answer within ", kAlonePatience.count(), " s"));
  caller->Start({prepared_.mix.requests[request].message, std::chrono::steady_clock::now()});
  const auto ended = [&](const EndedRequest& end) {
    if (end.status.ok()) {
      answer = end.answer;
    } else if (end.status.error_code() != grpc::StatusCode::CANCELLED) {
      answer = InvalidArgumentError(StrCat("the server does not take the request: ", CodeName(end.status.error_code()),
                                           ": ", end.status.error_message()));
    }
  };
  const TimePoint deadline = std::chrono::steady_clock::now() + kAlonePatience;
  bool late = false;
  while (caller->under_way() > 0) {
    if (caller->Next(late ? kNever : deadline, ended)) continue;
    late = true;
    caller->CancelAll();
  }
  return answer;
}

// What every request would be refused for is better told once, and before.
Status Measurement::TryEachClass() {
  std::optional<size_t> tried;
  for (size_t i = 0; i < prepared_.mix.requests.size(); ++i) {
    const size_t class_index = prepared_.mix.requests[i].class_index;
    if (tried == class_index) continue;
    tried = class_index;
    if (const auto answer = AskAlone(i); !answer.ok()) {
      if (prepared_.mix.classes.size() == 1) return answer.status();
      return answer.status().WithPrefix(StrCat("class ", Quoted(prepared_.mix.classes[class_index].name), ": "));
    }
  }
  return Status();
}

Status Measurement::PrepareCheck() {
  if (!options_.verify) return Status();
  auto& expected = prepared_.expected;
  if (options_.verify->against == Verification::Against::kAlone) {
    for (size_t i = 0; i < expected.size(); ++i) {
      Result<grpc::ByteBuffer> answer = AskAlone(i);
      if (!answer.ok()) return answer.status();
      Result<std::vector<NamedTensor>> outputs = ReadAnswer(*answer, options_.streaming);
      if (!outputs.ok()) return outputs.status();
      expected[i] = *std::move(outputs);
    }
  } else if (std::ranges::any_of(expected, &std::vector<NamedTensor>::empty)) {
    return InvalidArgumentError("--verify data: the data does not tell the outputs of every request");
  }
  check_ = CheckAgainst(expected, options_.verify->comparison, options_.streaming);
  return Status();
}

std::vector<LoadShape> Measurement::Shapes() const {
  std::vector<LoadShape> shapes;
  if (!trace_.empty()) {
    const double length = Seconds(trace_.back().at);
    shapes.push_back({LoadShape::Kind::kTrace, length > 0 ? static_cast<double>(trace_.size()) / length : 1, "trace"});
    return shapes;
  }
  if (!gaps_.empty()) {
    const Duration all = std::accumulate(gaps_.begin(), gaps_.end(), Duration::zero());
    const double mean = Seconds(all) / static_cast<double>(gaps_.size());
    shapes.push_back({LoadShape::Kind::kRate, 1 / mean, "intervals"});
    return shapes;
  }
  for (const double rate : options_.rates) {
    const auto pattern = ParseArrivals(options_.arrivals, rate, options_.warmup + options_.duration);
    shapes.push_back({LoadShape::Kind::kRate, rate, pattern.ok() ? pattern->Name() : options_.arrivals});
  }
  std::vector<double> concurrencies = options_.concurrencies;
  if (options_.scenario == "offline") {
    concurrencies = {static_cast<double>(std::max(2 * BestConcurrency(), kLeastOffline))};
  } else if (shapes.empty() && concurrencies.empty()) {
    concurrencies = {1, 4, 16, 64};
    if (const int64_t best = BestConcurrency(); best > 0) concurrencies.push_back(static_cast<double>(best));
    std::ranges::sort(concurrencies);
    concurrencies.erase(std::unique(concurrencies.begin(), concurrencies.end()), concurrencies.end());
  }
  for (const double concurrency : concurrencies) {
    shapes.push_back({LoadShape::Kind::kConcurrency, concurrency, "closed"});
  }
  return shapes;
}

int64_t Measurement::BestConcurrency() const {
  const ModelDescription& model = prepared_.models.front().description;
  const int64_t rows = prepared_.mix.classes.front().rows;
  return (2 * model.max_batch_size.value_or(0) * model.instances.value_or(1) + rows - 1) / rows;
}

LoadPlan Measurement::PlanFor(const LoadShape& shape) const {
  LoadPlan plan;
  plan.shape = shape;
  plan.mix = prepared_.mix;
  plan.check = check_;
  plan.seed = options_.seed;
  plan.warmup = options_.warmup;
  plan.duration = options_.duration;
  plan.wait_when_full = options_.wait_when_full;
  if (!options_.max_outstanding.empty()) {
    plan.most_under_way = ParseNumber<size_t>(options_.max_outstanding).value_or(SIZE_MAX);
  }
  if (shape.kind == LoadShape::Kind::kTrace) {
    plan.warmup = Duration::zero();
    plan.duration = trace_.back().at + Duration(1);
    plan.schedule = [this](uint64_t) {
      return [this, next = size_t{0}]() mutable {
        return next < trace_.size() ? std::optional<DueRequest>(trace_[next++]) : std::nullopt;
      };
    };
  } else if (shape.arrivals == "intervals") {
    plan.schedule = [this](uint64_t) {
      return [this, next = size_t{0}, at = Duration::zero()]() mutable {
        return std::optional<DueRequest>(DueRequest{at += gaps_[next++ % gaps_.size()], {}});
      };
    };
  } else if (shape.kind == LoadShape::Kind::kRate) {
    const auto pattern = ParseArrivals(options_.arrivals, shape.value, plan.warmup + plan.duration);
    plan.schedule = [pattern = *pattern](uint64_t seed) {
      return [arrivals = std::make_shared<Arrivals>(pattern, seed)] {
        return std::optional<DueRequest>(DueRequest{arrivals->Next(), {}});
      };
    };
  }
  return plan;
}

// Of all models together; nothing unless the server tells of each.
std::optional<ServerSide> Measurement::Since(
    const std::vector<std::optional<inference::ModelStatistics>>& before) const {
  std::optional<ServerSide> all;
  for (size_t i = 0; i < before.size(); ++i) {
    const CalledModel& model = prepared_.models[i];
    const auto after = before[i] ? server_->Statistics(model.name, model.version) : std::nullopt;
    if (!after) return std::nullopt;
    const ServerSide side = Difference(*before[i], *after);
    all = all ? Together(*all, side) : side;
  }
  return all;
}

// Empty where there is no page; it was there when the measurement was prepared.
Metrics Measurement::ReadMetrics() const {
  if (options_.metrics_url.empty()) return {};
  const Result<std::string> page = FetchPage(options_.metrics_url, kMetricsPatience);
  return page.ok() ? ParseMetrics(*page) : Metrics();
}

LoadSurroundings Measurement::Surroundings(const LoadShape& shape) const {
  LoadSurroundings surroundings;
  surroundings.watch_server = [this]() -> ServerWatch {
    std::vector<std::optional<inference::ModelStatistics>> before;
    for (const CalledModel& model : prepared_.models) before.push_back(server_->Statistics(model.name, model.version));
    return [this, before = std::move(before), metrics = ReadMetrics()] {
      return ServerAccount{Since(before), Changes(metrics, ReadMetrics())};
    };
  };
  surroundings.wait_or_stop = [this](TimePoint time) { return stop_.WaitUntil(time); };
  surroundings.show = [this, shape](const LoadStatus& status) { show_(LiveLine(shape, status)); };
  return surroundings;
}

LoadPoint Measurement::RunPoint(const LoadPlan& plan) { return RunLoad(workers_, plan, Surroundings(plan.shape)); }

// Each batch size that the server may form pays once for what libraries set up for it.
void Measurement::WarmUpSizes() {
  const int64_t most = prepared_.models.front().description.max_batch_size.value_or(0) / options_.batch;
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
  const auto best = static_cast<double>(std::max<int64_t>(BestConcurrency(), 8));
  LoadPlan plan = PlanFor({LoadShape::Kind::kConcurrency, best, "closed"});
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
  for (const CalledModel& model : prepared_.models) {
    result.model += StrCat(result.model.empty() ? "" : ", ", model.name);
    result.model_config += model.config;
  }
  result.model_version = prepared_.models.front().version;
  result.measured_quantile = options_.percentile / 100;
  WarmUpSizes();
  if (options_.objective) {
    result.objective = Search(*options_.objective, result);
  } else {
    for (const LoadShape& shape : Shapes()) {
      if (stop_.came()) break;
      result.points.push_back(RunPoint(PlanFor(shape)));
    }
  }
  if (const auto scenario = ParseScenario(options_.scenario)) result.scenario = JudgeScenario(*scenario, result);
  return result;
}

}  // namespace ferry
