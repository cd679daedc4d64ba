#ifndef FERRY_LOADGEN_BENCH_RESULT_H_
#define FERRY_LOADGEN_BENCH_RESULT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ferry/clock.h"
#include "loadgen/latency_histogram.h"

namespace ferry {

// What a run of ferry-bench found out: plain data, filled in by the load, read by every report.

// How requests were offered.
struct LoadShape {
  enum class Kind {
    kConcurrency,  // closed loop: `value` requests under way at any time
    kRate,         // open loop: `value` requests per second on average, whatever the server does
    kTrace,        // open loop: at the times of a file, `value` requests per second on average
  };
  Kind kind = Kind::kConcurrency;
  double value = 1;
  std::string arrivals = "closed";  // or constant, poisson, gamma, on-off, ramp, step, trace
};

// Requests that were not answered with OK, by code and message.
struct FailureCount {
  std::string code;  // as gRPC names it: UNAVAILABLE, or DROPPED for what the cap on outstanding requests kept back
  std::string message;
  uint64_t count = 0;
};

// One second of a load, counted from its start; requests count where they were due.
struct SecondOfLoad {
  double begin_s = 0;
  uint64_t offered = 0;
  uint64_t ok = 0;
  uint64_t failed = 0;
  Duration p50{};  // of the responses
  Duration p99{};
  Duration max{};
};

// The requests of one kind in a mix.
struct ClassResult {
  std::string name;
  uint64_t offered = 0;
  uint64_t ok = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  LatencyHistogram response;
};

// What the server's statistics say of the same time: the difference of two ModelStatistics.
struct ServerSide {
  struct Batches {
    uint64_t executions = 0;
    Duration infer{};  // of all of them together
  };
  uint64_t requests = 0;
  uint64_t failures = 0;
  uint64_t inferences = 0;
  uint64_t executions = 0;
  // Means of a request. Where requests share a batch, each is charged all of its time.
  Duration queue{};
  Duration compute_input{};
  Duration compute_infer{};
  Duration compute_output{};
  std::map<int64_t, Batches> batches;  // by their size
};

// A series of the server's metrics page whose value differs at the end of the measured time.
struct MetricChange {
  std::string series;  // name and labels
  double before = 0;
  double after = 0;
};

// One point of load, measured after its warm-up.
struct LoadPoint {
  LoadShape load;
  Duration window{};     // in which requests were due, or in a closed loop answered, that count
  Duration measured{};   // the window, in an open loop up to the last answer if that came later
  Duration discarded{};  // before it
  double rows = 1;       // of a request, on average
  uint64_t offered = 0;  // requests that were due: sent and dropped ones; ok + failed + cancelled
  uint64_t ok = 0;
  uint64_t failed = 0;  // dropped ones included
  uint64_t dropped = 0;
  uint64_t cancelled = 0;   // by the load, as it was told to: neither answered nor failed
  uint64_t wrong = 0;       // among `ok`: answers that the output check found to be wrong
  std::string first_fault;  // what was wrong with one of them
  // From when a request was due, by the schedule, to its answer: what a user of the service waits. Answers with OK alone.
  LatencyHistogram response;
  LatencyHistogram service;   // from when it was sent
  LatencyHistogram lateness;  // from when it was due to when it was sent: the generator's own
  std::vector<FailureCount> failures;
  std::vector<SecondOfLoad> seconds;
  std::vector<ClassResult> classes;  // where there is a mix
  std::optional<ServerSide> server;  // nothing where the server has no statistics
  std::vector<MetricChange> metrics;
  double client_cpu_us = 0;          // of one request
  std::vector<std::string> invalid;  // why these figures must not be trusted, if so
  std::vector<std::string> notes;    // what a reader should know besides

  // Answered with OK. In a closed loop each counts with the share of its time that lay in the window: whole answers would
  // make a rate of four clients and a server that takes a second jump by four at the window's ends.
  double requests_per_second = 0;
};

// The answer to "how much load does it bear with this latency".
struct ObjectiveResult {
  double quantile = 0.99;
  Duration bound{};
  double highest_rate = 0;   // requests per second that passed, confirmed by a long run; 0: none did
  double lowest_failed = 0;  // the lowest rate that did not; 0: none failed
  std::string explanation;
};

// What a scenario of MLPerf makes of a run.
struct ScenarioResult {
  std::string name;
  std::string figure;  // what `value` is
  double value = 0;
  std::string unit;
  std::vector<std::string> short_of_rules;  // why it would be none by MLPerf's own rules
};

struct HostDescription {
  std::string name;
  std::string cpu;
  int cpus = 0;
  std::string kernel;
};

struct BenchResult {
  std::string version;                 // of ferry-bench
  std::string started;                 // ISO 8601, UTC
  std::vector<std::string> arguments;  // of the command line
  uint64_t seed = 0;
  HostDescription client;
  std::string target;  // HOST:PORT
  std::string server;  // name and version, as the server says
  std::string model;
  std::string model_version;
  std::string model_config;  // text; empty where the server does not tell
  double measured_quantile = 0.99;
  std::vector<LoadPoint> points;
  std::optional<ObjectiveResult> objective;
  std::optional<ScenarioResult> scenario;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_BENCH_RESULT_H_
