// The program `ferry-bench`. Exit codes: 0; 1 for a result that is invalid or an assertion that does not hold; 2 for a wrong
// command line; 3 when there is no result.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "loadgen/assertion.h"
#include "loadgen/bench_options.h"
#include "loadgen/measurement.h"
#include "loadgen/report_csv.h"
#include "loadgen/report_hgrm.h"
#include "loadgen/report_html.h"
#include "loadgen/report_json.h"
#include "loadgen/report_table.h"
#include "loadgen/result_comparison.h"
#include "loadgen/self_test.h"

namespace ferry {
namespace {

constexpr int kNotGood = 1;
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

Status Write(const std::string& path, const std::string& content) {
  if (path.empty()) return Status();
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  return file ? Status() : InvalidArgumentError("cannot write " + path);
}

// What says that the result is not what was asked for, a line each.
int Judge(const MeasureOptions& options, const BenchResult& result) {
  bool good = !result.points.empty();
  for (const LoadPoint& point : result.points) {
    good = good && point.invalid.empty();
    for (const std::string& text : options.assertions) {
      const Result<Assertion> assertion = Assertion::Parse(text);
      if (!assertion.ok() || assertion->Holds(point)) continue;
      good = false;
      std::fprintf(stderr, "ferry-bench: %s\n", assertion->Explain(point).c_str());
    }
  }
  return good ? 0 : kNotGood;
}

int Run(const MeasureOptions& options) {
  StopSignal stop;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  Measurement measurement(options, stop, [&](const std::string& line) {
    if (options.quiet) return;
    // On a terminal each line takes the place of the one before.
    std::fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", line.c_str());
    std::fflush(stderr);
  });
  if (const Status status = measurement.Prepare(); !status.ok()) return Fail(kNoResult, status);
  const BenchResult result = measurement.Run();
  if (terminal && !options.quiet) std::fputs("\r\033[K", stderr);
  std::fputs(TableReport(result).c_str(), stdout);
  if (const Status status = Write(options.json, JsonReport(result)); !status.ok()) return Fail(kNoResult, status);
  if (const Status status = Write(options.csv, CsvReport(result)); !status.ok()) return Fail(kNoResult, status);
  if (const Status status = Write(options.html, HtmlReport({result})); !status.ok()) return Fail(kNoResult, status);
  const LatencyHistogram last = result.points.empty() ? LatencyHistogram() : result.points.back().response;
  if (const Status status = Write(options.hgrm, HgrmReport(last)); !status.ok()) return Fail(kNoResult, status);
  return Judge(options, result);
}

Result<std::vector<BenchResult>> ReadAll(const std::vector<std::string>& paths) {
  std::vector<BenchResult> results;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return NotFoundError("cannot read " + path);
    Result<BenchResult> result = ReadJsonReport(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!result.ok()) return result.status().WithPrefix(path + ": ");
    results.push_back(std::move(result).value());
  }
  return results;
}

int Run(const CompareOptions& options) {
  const auto baseline = ReadAll(options.baseline);
  if (!baseline.ok()) return Fail(kNoResult, baseline.status());
  const auto candidate = ReadAll(options.candidate);
  if (!candidate.ok()) return Fail(kNoResult, candidate.status());
  const auto comparisons = CompareResults(*baseline, *candidate, options.threshold);
  if (!comparisons.ok()) return Fail(kNoResult, comparisons.status());
  std::fputs(ComparisonText(*comparisons).c_str(), stdout);
  const auto slower = [](const FigureComparison& each) {
    return each.comparison.verdict == Comparison::Verdict::kSlower;
  };
  return std::ranges::any_of(*comparisons, slower) ? kNotGood : 0;
}

int Run(const ReportOptions& options) {
  const auto results = ReadAll(options.results);
  if (!results.ok()) return Fail(kNoResult, results.status());
  const Status status = Write(options.html, HtmlReport(*results));
  return status.ok() ? 0 : Fail(kNoResult, status);
}

int Main(int argc, char** argv) {
  const Result<BenchCommand> command = ParseBenchCommand({argv + 1, argv + argc});
  if (!command.ok()) return Fail(kWrongCommandLine, command.status());
  return std::visit([](const auto& each) { return Run(each); }, *command);
}

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) { return ferry::Main(argc, argv); }
