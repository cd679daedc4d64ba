#ifndef FERRY_LOADGEN_SCENARIO_H_
#define FERRY_LOADGEN_SCENARIO_H_

#include <optional>
#include <string_view>

#include "ferry/status.h"
#include "loadgen/bench_options.h"
#include "loadgen/bench_result.h"

namespace ferry {

// The four ways in which MLPerf Inference asks a system (inference_rules.adoc, mlperf.conf), as near as a client comes to
// them: what is reported is not a result of MLPerf.

enum class Scenario {
  kSingleStream,  // one sample at a time: p90 of the latency
  kMultiStream,   // eight samples at a time, as rows of one request: p99 of the latency
  kServer,        // Poisson arrivals: the highest rate whose p99 is within --latency-threshold
  kOffline,       // all that the server takes: samples per second
};

// "single-stream", "multi-stream", "server" or "offline".
std::optional<Scenario> ParseScenario(std::string_view text);

// Sets the load of the scenario; that of kOffline depends on the server and is left to the measurement.
//   INVALID_ARGUMENT  the options ask for another load
Status ApplyScenario(Scenario scenario, MeasureOptions& options);

// What the scenario makes of a result. A latency is such that the quantile of all requests is within it with 99 % confidence
// (MLPerf's early stopping). REQUIRES: the result is of a load that ApplyScenario() set.
ScenarioResult JudgeScenario(Scenario scenario, const BenchResult& result);

}  // namespace ferry

#endif  // FERRY_LOADGEN_SCENARIO_H_
