#include "loadgen/bench_options.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "base/strings.h"
#include "ferry/version.h"
#include "loadgen/arrivals.h"
#include "loadgen/assertion.h"
#include "loadgen/option_text.h"
#include "loadgen/scenario.h"

namespace ferry {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kFooter[] = R"(
Examples:
  ferry-bench -m mlp --concurrency-range 1:64:x2                   how throughput grows with clients
  ferry-bench -m mlp --request-rate-range 500 --duration 30s       latency at 500 requests/s, Poisson
  ferry-bench -m mlp --latency-threshold 50 --percentile 99        the highest rate with a p99 within 50 ms
  ferry-bench -m mlp --concurrency-range 32 --json a.json --assert 'p99<80ms'
  ferry-bench compare --baseline a.json --candidate b.json
  ferry-bench report a.json b.json --html report.html
  ferry-bench selftest                                             what this host can measure at all

In an open loop (rates and traces) latency counts from the moment a request was due, whatever held it up; requests are
sent on time, whether earlier ones have been answered or not.

Exit codes: 0; 1 a result that is invalid, or an assertion that does not hold; 2 a wrong command line; 3 no result: the
server or the model cannot be reached, or does not take the requests.)";

// A number with the parts of a range.
Result<double> ParsePositive(std::string_view text) {
  const std::optional<double> number = ParseReal(text);
  if (number && *number > 0) return *number;
  return InvalidArgumentError(StrCat(Quoted(text), ": must be a number greater than 0"));
}

Result<std::vector<double>> Steps(const std::vector<std::string_view>& parts) {
  constexpr size_t kMost = 1000;
  const bool factor = parts.size() == 3 && parts[2].starts_with('x');
  const Result<double> first = ParsePositive(parts[0]);
  const Result<double> last = ParsePositive(parts[1]);
  const Result<double> step = parts.size() < 3 ? Result<double>(1.0) : ParsePositive(parts[2].substr(factor ? 1 : 0));
  for (const Result<double>* each : {&first, &last, &step}) {
    if (!each->ok()) return each->status();
  }
  if (factor && *step <= 1) return InvalidArgumentError(StrCat("factor ", *step, ": must be greater than 1"));
  std::vector<double> values;
  for (double value = *first; value <= *last * (1 + 1e-9); value = factor ? value * *step : value + *step) {
    values.push_back(value);
    if (values.size() > kMost) return InvalidArgumentError(StrCat("more than ", kMost, " points"));
  }
  if (values.empty()) return InvalidArgumentError(StrCat("the end ", *last, " is before the beginning ", *first));
  return values;
}

// Options that hold a text which is read when all are there.
struct RawText {
  std::string concurrency, rate, duration, interval, warmup, deadline, threshold, queue_timeout, trace_clip;
  std::string cancel, verify;
};

void AddTargetFlags(CLI::App& app, MeasureOptions& options) {
  app.option_defaults()->group("Where calls go");
  app.add_option("-m,--model-name", options.model, "Model to call");
  app.add_option("-x,--model-version", options.version, "Its version; the server's choice if left out");
  app.add_option("-u,--url", options.url, "HOST:PORT of the server's gRPC port")->capture_default_str();
  app.add_option("-H,--header", options.headers, "Metadata of each call, NAME:VALUE; may be repeated");
  app.add_option("--grpc-compression-algorithm", options.compression)
      ->check(CLI::IsMember({"none", "gzip", "deflate"}))
      ->capture_default_str();
  app.add_flag("--ssl-grpc-use-ssl", options.tls, "TLS");
  app.add_option("--ssl-grpc-root-certifications-file", options.root_certificates, "PEM; the system's if left out");
  app.add_option("--ssl-grpc-private-key-file", options.private_key, "PEM, for mutual TLS");
  app.add_option("--ssl-grpc-certificate-chain-file", options.certificate_chain, "PEM, for mutual TLS");
}

void AddLoadFlags(CLI::App& app, MeasureOptions& options, RawText& raw) {
  app.option_defaults()->group("The load");
  app.add_option(
      "--concurrency-range", raw.concurrency,
      "Closed loop: requests under way, as 8 or 1,8,64 or 1:8:1 or 1:64:x2. Without any load flag: 1, 4, 16, "
      "64 and 2 x max_batch_size x instances");
  app.add_option("--request-rate-range", raw.rate, "Open loop: requests per second, in the same forms");
  app.add_option("--request-distribution", options.arrivals,
                 "Of an open loop: constant, poisson, gamma:SHAPE, on-off:ON,OFF, ramp:RATE, ...")
      ->capture_default_str();
  app.add_option("--trace", options.trace, "Open loop: at the times of this file (docs/bench.md)");
  app.add_option("--request-intervals", options.intervals,
                 "Open loop: the gaps between requests, a number of microseconds a line, again and again");
  app.add_option("--trace-speed", options.trace_speed, "How much faster than it was recorded")
      ->check(CLI::PositiveNumber);
  app.add_option("--trace-clip", raw.trace_clip, "Of the trace, at that speed, only the first so much (all)");
  app.add_option(
      "--max-outstanding", options.max_outstanding,
      "Open loop: so many requests under way at most; what is due beyond that is dropped and counts as failed");
  app.add_flag("--wait-when-full", options.wait_when_full, "Send what is over --max-outstanding later instead");
  app.add_option("-l,--latency-threshold", raw.threshold,
                 "Search for the highest rate whose --percentile is within it: 50ms, or a number of milliseconds");
  app.add_option("--scenario", options.scenario,
                 "As MLPerf has it, unofficially: single-stream, multi-stream, server (with -l) or offline");
  app.add_option("--percentile", options.percentile, "Of the threshold")
      ->check(CLI::Range(1.0, 99.999))
      ->capture_default_str();
  app.add_option("--duration", raw.duration, "Measured time of each point (10s)");
  app.add_option("-p,--measurement-interval", raw.interval, "The same in milliseconds, as perf_analyzer has it");
  app.add_option("--warmup", raw.warmup, "Of the same load before each point, not counted (2s)");
}

void AddRequestFlags(CLI::App& app, MeasureOptions& options, RawText& raw) {
  app.option_defaults()->group("Each request");
  app.add_option("--mix", options.mix, "JSON file with several classes of requests and their weights (docs/bench.md)");
  app.add_option("--priority", options.priority, "Of each request, in the server's queue");
  app.add_option("--queue-timeout", raw.queue_timeout, "How long a request may wait in the server's queue");
  app.add_option("--deadline", raw.deadline, "Of each call, as its client sets it (none)");
  app.add_option("--cancel", raw.cancel, "SHARE,AFTER: calls that the client gives up, as 0.1,5ms");
  app.add_option("--verify", raw.verify,
                 "Check the answers against the data's outputs (data) or what the request is answered alone (alone); "
                 "after a colon exact, tolerance:RELATIVE,ABSOLUTE (1e-4,1e-5) or argmax");
  app.add_flag("--streaming", options.streaming, "ModelStreamInfer: a stream for each connection");
}

void AddDataFlags(CLI::App& app, MeasureOptions& options) {
  app.option_defaults()->group("What is in it");
  app.add_option("-b,--batch-size", options.batch, "Rows of each request")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--input-data", options.input_data,
                 "random, zero, a JSON file as perf_analyzer's, a folder of files, or images:PATH")
      ->capture_default_str();
  app.add_option("--image-scaling", options.image_scaling, "Of their pixels: none, unit, inception or imagenet")
      ->check(CLI::IsMember({"none", "unit", "inception", "imagenet"}))
      ->capture_default_str();
  app.add_option("--shape", options.shapes, "NAME:D,D for an input with variable dimensions; may be repeated");
  app.add_option("--range", options.ranges, "NAME:LEAST,MOST of random values; integers are 0 and 1 by default");
  app.add_option("--string-length", options.string_length, "Of random strings")->capture_default_str();
  app.add_option("--distinct", options.distinct, "Requests with data of their own")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--request-parameter", options.parameters, "NAME:VALUE:TYPE, with type bool, int or string");
  app.add_option("--seed", options.seed, "Of data and schedule")->capture_default_str();
}

void AddOutputFlags(CLI::App& app, MeasureOptions& options) {
  app.option_defaults()->group("The client and its reports");
  app.add_option("--threads,--max-threads", options.threads,
                 "Threads that send and receive; 0: one for each two cores, at most 4");
  app.add_option("--channels", options.channels, "Connections of each thread")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--metrics-url", options.metrics_url,
                 "http://HOST:PORT/PATH of the server's metrics; what changed goes into --json");
  app.add_option("-f,--csv", options.csv, "File for a table with perf_analyzer's columns");
  app.add_option("--json", options.json, "File for the whole result, which `compare` reads");
  app.add_option("--html", options.html, "File for a page with tables and pictures");
  app.add_option("--hgrm", options.hgrm,
                 "File for the percentiles of the last point, as HdrHistogram's plotters read them");
  app.add_option("--assert", options.assertions, "Such as 'p99<15ms', 'errors==0', 'rps>=500'; may be repeated");
  app.add_flag("-q,--quiet", options.quiet, "No line each second");
}

// Command lines of perf_analyzer have them, and mean what is the case here anyhow.
void AddForeignFlags(CLI::App& app) {
  const auto ignored = [&](const char* flags) { app.add_flag(flags)->group(""); };
  ignored("-a,--async");
  ignored("--sync");
  ignored("-v,--verbose");
  app.add_option("-i,--protocol")->check(CLI::IsMember({"grpc"}, CLI::ignore_case))->group("");
}

struct ReadDuration {
  const char* flag;
  const std::string& text;
  Duration unit;
  Duration* value;
};

Status ReadTexts(const RawText& raw, MeasureOptions& options) {
  Duration threshold{}, queue_timeout{}, trace_clip{};
  for (const auto& [flag, text, unit, value] :
       {ReadDuration{"--duration", raw.duration, seconds(1), &options.duration},
        ReadDuration{"--measurement-interval", raw.interval, milliseconds(1), &options.duration},
        ReadDuration{"--warmup", raw.warmup, seconds(1), &options.warmup},
        ReadDuration{"--deadline", raw.deadline, milliseconds(1), &options.deadline},
        ReadDuration{"--queue-timeout", raw.queue_timeout, milliseconds(1), &queue_timeout},
        ReadDuration{"--trace-clip", raw.trace_clip, seconds(1), &trace_clip},
        ReadDuration{"--latency-threshold", raw.threshold, milliseconds(1), &threshold}}) {
    if (text.empty()) continue;
    const std::optional<Duration> read = ParseDuration(text, unit);
    if (!read) {
      return InvalidArgumentError(StrCat(flag, " ", Quoted(text), ": must be a time such as 250us, 10ms, 1.5s or 2m"));
    }
    *value = *read;
  }
  if (!raw.threshold.empty()) options.objective = threshold;
  if (!raw.queue_timeout.empty()) options.queue_timeout = queue_timeout;
  if (!raw.trace_clip.empty()) options.trace_clip = trace_clip;
  for (const auto& [flag, text, values] : {std::tuple{"--concurrency-range ", &raw.concurrency, &options.concurrencies},
                                           std::tuple{"--request-rate-range ", &raw.rate, &options.rates}}) {
    if (text->empty()) continue;
    Result<std::vector<double>> read = ParseRange(*text);
    if (!read.ok()) return read.status().WithPrefix(flag);
    *values = std::move(read).value();
  }
  return Status();
}

Status ReadRequestTexts(const RawText& raw, MeasureOptions& options) {
  if (!raw.cancel.empty()) {
    const auto cancel = ParseCancelOption(raw.cancel);
    if (!cancel) return InvalidArgumentError(StrCat("--cancel ", Quoted(raw.cancel), ": must be as 0.1,5ms"));
    options.cancel = *cancel;
  }
  if (!raw.verify.empty()) {
    const Result<Verification> verify = ParseVerification(raw.verify);
    if (!verify.ok()) return verify.status().WithPrefix("--verify ");
    options.verify = *verify;
  }
  const bool calls = options.deadline > Duration::zero() || !raw.cancel.empty();
  if (options.streaming && calls) {
    return InvalidArgumentError("--streaming: a stream has no deadline or cancel of a single request");
  }
  return Status();
}

Status CheckMeasure(const MeasureOptions& options) {
  if (options.model.empty() && options.mix.empty()) return InvalidArgumentError("--model-name (-m) or --mix is needed");
  const int loads =
      !options.concurrencies.empty() + !options.rates.empty() + !options.trace.empty() + !options.intervals.empty();
  if (loads + options.objective.has_value() > 1) {
    return InvalidArgumentError(
        "only one of --concurrency-range, --request-rate-range, --trace, --request-intervals and --latency-threshold "
        "at a time");
  }
  for (const double value : options.concurrencies) {
    if (value != std::floor(value))
      return InvalidArgumentError(StrCat("--concurrency-range ", value, ": must be whole"));
  }
  if (options.duration <= Duration::zero()) return InvalidArgumentError("--duration: must be greater than 0");
  const auto arrivals = ParseArrivals(options.arrivals, 1, options.warmup + options.duration);
  if (!arrivals.ok()) return arrivals.status().WithPrefix("--request-distribution: ");
  for (const std::string& text : options.assertions) {
    if (const auto assertion = Assertion::Parse(text); !assertion.ok()) return assertion.status();
  }
  if (!options.max_outstanding.empty() && ParseNumber<size_t>(options.max_outstanding).value_or(0) == 0) {
    return InvalidArgumentError(
        StrCat("--max-outstanding ", Quoted(options.max_outstanding), ": must be a number greater than 0"));
  }
  if (options.wait_when_full && options.max_outstanding.empty()) {
    return InvalidArgumentError("--wait-when-full: only with --max-outstanding");
  }
  return Status();
}

Status ReadScenario(MeasureOptions& options) {
  if (options.scenario.empty()) return Status();
  if (const auto scenario = ParseScenario(options.scenario)) return ApplyScenario(*scenario, options);
  return InvalidArgumentError(
      StrCat("--scenario ", Quoted(options.scenario), ": must be single-stream, multi-stream, server or offline"));
}

// What ferry-bench does besides measuring.
class Subcommands {
 public:
  // The application refers to this.
  explicit Subcommands(CLI::App& app)
      : self_test_app_(app.add_subcommand("selftest", "Prints what this host and this program can measure at most")),
        null_server_app_(app.add_subcommand("null-server")->group("")),
        compare_app_(app.add_subcommand("compare", "Tells whether one set of results is faster than another")),
        report_app_(app.add_subcommand("report", "Makes a page of one result, or of several side by side")) {
    self_test_app_->add_option("--bytes", self_test_.bytes, "Of each request and answer")->capture_default_str();
    self_test_app_->add_option("--rate", self_test_.rate, "Of the open loop whose lateness is shown")
        ->capture_default_str();
    null_server_app_->add_option("bytes", null_server_.bytes)->required();
    compare_app_->add_option("--baseline", compare_.baseline, "Results in JSON, one for each run")->required();
    compare_app_->add_option("--candidate", compare_.candidate, "Results in JSON, one for each run")->required();
    compare_app_->add_option("--threshold", compare_.threshold, "Least difference that counts")->capture_default_str();
    report_app_->add_option("results", report_.results, "Results in JSON; the others are compared with the first")
        ->required();
    report_app_->add_option("--html", report_.html, "File for the page")->required();
  }

  // The one on the command line; nothing: it measures.
  std::optional<BenchCommand> Parsed() const {
    if (self_test_app_->parsed()) return self_test_;
    if (null_server_app_->parsed()) return null_server_;
    if (compare_app_->parsed()) return compare_;
    if (report_app_->parsed()) return report_;
    return std::nullopt;
  }

 private:
  CLI::App* const self_test_app_;
  CLI::App* const null_server_app_;
  CLI::App* const compare_app_;
  CLI::App* const report_app_;
  SelfTestOptions self_test_;
  NullServerOptions null_server_;
  CompareOptions compare_;
  ReportOptions report_;
};

}  // namespace

Result<std::vector<double>> ParseRange(const std::string& text) {
  const std::vector<std::string_view> parts = Split(text, ':');
  if (parts.size() > 3) return InvalidArgumentError(StrCat(Quoted(text), ": must be FIRST:LAST:STEP"));
  Result<std::vector<double>> values = std::vector<double>();
  if (parts.size() > 1) {
    values = Steps(parts);
  } else {
    for (const std::string_view part : Split(text, ',')) {
      const Result<double> value = ParsePositive(part);
      if (!value.ok()) return value.status();
      values->push_back(*value);
    }
  }
  if (values.ok() && values->empty()) return InvalidArgumentError("must not be empty");
  return values;
}

Result<Verification> ParseVerification(std::string_view text) {
  Verification verification;
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view against = text.substr(0, colon);
  if (against == "alone") {
    verification.against = Verification::Against::kAlone;
  } else if (against != "data") {
    return InvalidArgumentError(StrCat(Quoted(text), ": must begin with data or alone, as in alone:tolerance:1e-3"));
  }
  if (colon == text.size()) return verification;
  Result<OutputComparison> comparison = ParseOutputComparison(text.substr(colon + 1));
  if (!comparison.ok()) return comparison.status();
  verification.comparison = *comparison;
  return verification;
}

Result<BenchCommand> ParseBenchCommand(const std::vector<std::string>& arguments) {
  CLI::App app("Measures a server of the V2 inference protocol.", "ferry-bench");
  app.footer(kFooter);
  app.set_version_flag("--version", StrCat("ferry-bench ", kVersion));
  MeasureOptions measure;
  RawText raw;
  AddTargetFlags(app, measure);
  AddLoadFlags(app, measure, raw);
  AddRequestFlags(app, measure, raw);
  AddDataFlags(app, measure);
  AddOutputFlags(app, measure);
  AddForeignFlags(app);
  Subcommands subcommands(app);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& text) {  // --help and --version
    std::ostringstream out;
    app.exit(text, out, out);
    return BenchCommand(BenchText{out.str()});
  } catch (const CLI::ParseError& error) {
    return InvalidArgumentError(StrCat(error.what(), "; see ferry-bench --help"));
  }
  if (std::optional<BenchCommand> command = subcommands.Parsed()) return *std::move(command);
  measure.arguments = arguments;
  FERRY_RETURN_IF_ERROR(ReadTexts(raw, measure));
  FERRY_RETURN_IF_ERROR(ReadRequestTexts(raw, measure));
  FERRY_RETURN_IF_ERROR(ReadScenario(measure));
  FERRY_RETURN_IF_ERROR(CheckMeasure(measure));
  return BenchCommand(std::move(measure));
}

}  // namespace ferry
