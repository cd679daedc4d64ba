// The program `ferry-bench`. Exit codes: 0; 1 for a result that is invalid or an assertion that does not hold; 2 for a wrong
// command line; 3 when there is no result.

#include <cstdio>
#include <string>

#include "loadgen/bench_options.h"
#include "loadgen/measurement.h"
#include "loadgen/self_test.h"

namespace ferry {
namespace {

constexpr int kWrongCommandLine = 2;
constexpr int kNoResult = 3;

int Fail(int code, const Status& status) {
  std::fprintf(stderr, "ferry-bench: %s\n", status.message().c_str());
  return code;
}

int Run(const BenchText& text) {
  std::fputs(text.text.c_str(), stdout);
  return 0;
}

int Run(const SelfTestOptions& options) {
  const Result<SelfTestResult> result = RunSelfTest(options);
  if (!result.ok()) return Fail(kNoResult, result.status());
  std::fputs(SelfTestText(options, *result).c_str(), stdout);
  return 0;
}

int Run(const NullServerOptions& options) {
  const Status status = RunNullServer(options.bytes);
  return status.ok() ? 0 : Fail(kNoResult, status);
}

int Run(const MeasureOptions& options) {
  StopSignal stop;
  Measurement measurement(options, stop, [&](const std::string& line) {
    if (!options.quiet) std::fprintf(stderr, "%s\n", line.c_str());
  });
  if (const Status status = measurement.Prepare(); !status.ok()) return Fail(kNoResult, status);
  const BenchResult result = measurement.Run();
  for (const LoadPoint& p : result.points) {
    std::printf("%s %g: %g rps, p50 %g p99 %g late p99 %g ms, failed %lu\n", p.load.arrivals.c_str(), p.load.value,
                p.RequestsPerSecond(), p.response.Quantile(.5).count() / 1e6, p.response.Quantile(.99).count() / 1e6,
                p.lateness.Quantile(.99).count() / 1e6, p.failed);
    for (auto& i : p.invalid) std::printf("  INVALID %s\n", i.c_str());
  }
  return 0;
}
int Run(const CompareOptions&) { return kNoResult; }

int Main(int argc, char** argv) {
  const Result<BenchCommand> command = ParseBenchCommand({argv + 1, argv + argc});
  if (!command.ok()) return Fail(kWrongCommandLine, command.status());
  return std::visit([](const auto& each) { return Run(each); }, *command);
}

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) { return ferry::Main(argc, argv); }
