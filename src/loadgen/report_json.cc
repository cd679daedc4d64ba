#include "loadgen/report_json.h"

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/number_text.h"
#include "loadgen/report_figures.h"

namespace ferry {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "ferry-bench/1";

Duration FromSeconds(double seconds) { return Duration(static_cast<int64_t>(seconds * 1e9 + 0.5)); }

Json Write(const LatencyHistogram& histogram) {
  Json buckets = Json::array();
  for (const auto& [upper, count] : histogram.Buckets()) buckets.push_back({upper.count(), count});
  return {{"min_ns", histogram.min().count()}, {"sum_ns", histogram.SumNanoseconds()}, {"buckets", std::move(buckets)}};
}

LatencyHistogram ReadHistogram(const Json& json) {
  std::vector<LatencyHistogram::Bucket> buckets;
  for (const Json& bucket : json.at("buckets")) buckets.push_back({Duration(bucket.at(0)), bucket.at(1)});
  Duration min(json.at("min_ns"));
  if (!buckets.empty()) min = std::min(min, buckets.front().upper);
  return LatencyHistogram::Restore(buckets, min, json.at("sum_ns"));
}

// By 95 % confidence; quantiles for which there are too few values are left out.
Json WriteIntervals(const LatencyHistogram& histogram) {
  Json intervals = Json::object();
  for (const double q : kReportQuantiles) {
    const std::optional<Interval> interval = ReportInterval(histogram, q);
    if (interval) intervals[QuantileName(q)] = {Milliseconds(interval->low), Milliseconds(interval->high)};
  }
  return intervals;
}

Json WriteQuantiles(const LatencyHistogram& histogram) {
  Json quantiles = {{"mean", histogram.MeanNanoseconds() / 1e6}};
  for (const double q : kReportQuantiles) quantiles[QuantileName(q)] = Milliseconds(histogram.Quantile(q));
  quantiles["max"] = Milliseconds(histogram.max());
  return quantiles;
}

constexpr const char* kKinds[] = {"concurrency", "rate", "trace"};

Json Write(const LoadShape& load) {
  return {{"kind", kKinds[static_cast<size_t>(load.kind)]}, {"value", load.value}, {"arrivals", load.arrivals}};
}

LoadShape ReadLoad(const Json& json) {
  LoadShape load;
  const std::string kind = json.at("kind");
  if (kind == kKinds[1]) load.kind = LoadShape::Kind::kRate;
  if (kind == kKinds[2]) load.kind = LoadShape::Kind::kTrace;
  load.value = json.at("value");
  load.arrivals = json.at("arrivals");
  return load;
}

Json Write(const ServerSide& side) {
  Json batches = Json::array();
  for (const auto& [size, each] : side.batches) {
    batches.push_back({{"size", size}, {"executions", each.executions}, {"infer_ns", each.infer.count()}});
  }
  return {{"requests", side.requests},
          {"failures", side.failures},
          {"inferences", side.inferences},
          {"executions", side.executions},
          {"queue_ns", side.queue.count()},
          {"compute_input_ns", side.compute_input.count()},
          {"compute_infer_ns", side.compute_infer.count()},
          {"compute_output_ns", side.compute_output.count()},
          {"batches", std::move(batches)}};
}

ServerSide ReadServerSide(const Json& json) {
  ServerSide side;
  side.requests = json.at("requests");
  side.failures = json.at("failures");
  side.inferences = json.at("inferences");
  side.executions = json.at("executions");
  side.queue = Duration(json.at("queue_ns"));
  side.compute_input = Duration(json.at("compute_input_ns"));
  side.compute_infer = Duration(json.at("compute_infer_ns"));
  side.compute_output = Duration(json.at("compute_output_ns"));
  for (const Json& each : json.at("batches")) {
    side.batches[each.at("size")] = {each.at("executions"), Duration(each.at("infer_ns"))};
  }
  return side;
}

Json WriteSeconds(const std::vector<SecondOfLoad>& seconds) {
  Json json = Json::array();
  for (const SecondOfLoad& each : seconds) {
    json.push_back({{"begin_s", each.begin_s},
                    {"offered", each.offered},
                    {"ok", each.ok},
                    {"failed", each.failed},
                    {"p50_ns", each.p50.count()},
                    {"p99_ns", each.p99.count()},
                    {"max_ns", each.max.count()}});
  }
  return json;
}

SecondOfLoad ReadSecond(const Json& json) {
  return {json.at("begin_s"),         json.at("offered"),          json.at("ok"),
          json.at("failed"),          Duration(json.at("p50_ns")), Duration(json.at("p99_ns")),
          Duration(json.at("max_ns"))};
}

Json WriteClasses(const std::vector<ClassResult>& classes) {
  Json json = Json::array();
  for (const ClassResult& each : classes) {
    json.push_back({{"name", each.name},
                    {"offered", each.offered},
                    {"ok", each.ok},
                    {"failed", each.failed},
                    {"cancelled", each.cancelled},
                    {"response", Write(each.response)}});
  }
  return json;
}

Json WriteMetrics(const std::vector<MetricChange>& metrics) {
  Json json = Json::array();
  for (const MetricChange& each : metrics) {
    json.push_back({{"series", each.series}, {"before", each.before}, {"after", each.after}});
  }
  return json;
}

Json Write(const LoadPoint& point) {
  Json failures = Json::array();
  for (const FailureCount& each : point.failures) {
    failures.push_back({{"code", each.code}, {"message", each.message}, {"count", each.count}});
  }
  return {{"load", Write(point.load)},
          {"valid", point.invalid.empty()},
          {"invalid", point.invalid},
          {"notes", point.notes},
          {"window_s", Seconds(point.window)},
          {"measured_s", Seconds(point.measured)},
          {"discarded_s", Seconds(point.discarded)},
          {"rows", point.rows},
          {"offered", point.offered},
          {"ok", point.ok},
          {"failed", point.failed},
          {"dropped", point.dropped},
          {"cancelled", point.cancelled},
          {"wrong", point.wrong},
          {"first_fault", point.first_fault},
          {"offered_per_second", OfferedPerSecond(point)},
          {"requests_per_second", point.requests_per_second},
          {"inferences_per_second", InferencesPerSecond(point)},
          {"response_ms", WriteQuantiles(point.response)},
          {"response_intervals_ms", WriteIntervals(point.response)},
          {"service_ms", WriteQuantiles(point.service)},
          {"lateness_ms", WriteQuantiles(point.lateness)},
          {"client_cpu_us", point.client_cpu_us},
          {"metrics", WriteMetrics(point.metrics)},
          {"failures", std::move(failures)},
          {"server", point.server ? Write(*point.server) : Json()},
          {"classes", WriteClasses(point.classes)},
          {"seconds", WriteSeconds(point.seconds)},
          {"response", Write(point.response)},
          {"service", Write(point.service)},
          {"lateness", Write(point.lateness)}};
}

LoadPoint ReadPoint(const Json& json) {
  LoadPoint point;
  point.load = ReadLoad(json.at("load"));
  point.invalid = json.at("invalid");
  point.notes = json.at("notes");
  point.window = FromSeconds(json.at("window_s"));
  point.measured = FromSeconds(json.at("measured_s"));
  point.requests_per_second = json.at("requests_per_second");
  point.discarded = FromSeconds(json.at("discarded_s"));
  point.rows = json.at("rows");
  point.offered = json.at("offered");
  point.ok = json.at("ok");
  point.failed = json.at("failed");
  point.dropped = json.at("dropped");
  point.cancelled = json.value("cancelled", uint64_t{0});
  point.wrong = json.at("wrong");
  point.first_fault = json.value("first_fault", "");
  point.client_cpu_us = json.at("client_cpu_us");
  for (const Json& each : json.value("metrics", Json::array())) {
    point.metrics.push_back({each.at("series"), each.at("before"), each.at("after")});
  }
  for (const Json& each : json.at("failures")) {
    point.failures.push_back({each.at("code"), each.at("message"), each.at("count")});
  }
  if (!json.at("server").is_null()) point.server = ReadServerSide(json.at("server"));
  for (const Json& each : json.at("classes")) {
    point.classes.push_back({each.at("name"), each.at("offered"), each.at("ok"), each.at("failed"),
                             each.value("cancelled", uint64_t{0}), ReadHistogram(each.at("response"))});
  }
  for (const Json& each : json.at("seconds")) point.seconds.push_back(ReadSecond(each));
  point.response = ReadHistogram(json.at("response"));
  point.service = ReadHistogram(json.at("service"));
  point.lateness = ReadHistogram(json.at("lateness"));
  return point;
}

Json Write(const ObjectiveResult& objective) {
  return {{"quantile", objective.quantile},
          {"bound_ms", Milliseconds(objective.bound)},
          {"highest_rate", objective.highest_rate},
          {"lowest_failed", objective.lowest_failed},
          {"explanation", objective.explanation}};
}

Json Write(const ScenarioResult& scenario) {
  return {{"name", scenario.name},
          {"figure", scenario.figure},
          {"value", scenario.value},
          {"unit", scenario.unit},
          {"short_of_rules", scenario.short_of_rules}};
}

BenchResult ReadResult(const Json& json) {
  BenchResult result;
  result.version = json.at("version");
  result.started = json.at("started");
  result.arguments = json.at("arguments");
  result.seed = json.at("seed");
  const Json& client = json.at("client");
  result.client = {client.at("name"), client.at("cpu"), client.at("cpus"), client.at("kernel")};
  result.target = json.at("target");
  result.server = json.at("server");
  result.model = json.at("model");
  result.model_version = json.at("model_version");
  result.model_config = json.at("model_config");
  result.measured_quantile = json.at("measured_quantile");
  for (const Json& point : json.at("points")) result.points.push_back(ReadPoint(point));
  if (const Json scenario = json.value("scenario", Json()); !scenario.is_null()) {
    result.scenario = {scenario.at("name"), scenario.at("figure"), scenario.at("value"), scenario.at("unit"),
                       scenario.at("short_of_rules")};
  }
  if (const Json& objective = json.at("objective"); !objective.is_null()) {
    result.objective = {objective.at("quantile"), FromSeconds(objective.at("bound_ms").get<double>() / 1e3),
                        objective.at("highest_rate"), objective.at("lowest_failed"), objective.at("explanation")};
  }
  return result;
}

}  // namespace

std::string JsonReport(const BenchResult& result) {
  Json points = Json::array();
  for (const LoadPoint& point : result.points) points.push_back(Write(point));
  const HostDescription& client = result.client;
  const Json json = {
      {"schema", kSchema},
      {"version", result.version},
      {"started", result.started},
      {"arguments", result.arguments},
      {"seed", result.seed},
      {"client", {{"name", client.name}, {"cpu", client.cpu}, {"cpus", client.cpus}, {"kernel", client.kernel}}},
      {"target", result.target},
      {"server", result.server},
      {"model", result.model},
      {"model_version", result.model_version},
      {"model_config", result.model_config},
      {"measured_quantile", result.measured_quantile},
      {"objective", result.objective ? Write(*result.objective) : Json()},
      {"scenario", result.scenario ? Write(*result.scenario) : Json()},
      {"points", std::move(points)}};
  // What a server says need not be UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<BenchResult> ReadJsonReport(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    const std::string schema = json.value("schema", "");
    if (schema != kSchema) return InvalidArgumentError(StrCat("schema ", Quoted(schema), ": must be ", kSchema));
    return ReadResult(json);
  } catch (const Json::exception& error) {
    return InvalidArgumentError(StrCat("no result of ferry-bench: ", error.what()));
  }
}

}  // namespace ferry
