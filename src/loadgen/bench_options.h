#ifndef FERRY_LOADGEN_BENCH_OPTIONS_H_
#define FERRY_LOADGEN_BENCH_OPTIONS_H_

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ferry/clock.h"
#include "ferry/status.h"
#include "loadgen/output_check.h"

namespace ferry {

// How the answers of a run are checked.
struct Verification {
  enum class Against {
    kData,   // the outputs that the data has
    kAlone,  // what the same request is answered when nothing else is under way
  };
  Against against = Against::kData;
  // Unless told otherwise, close: floats of one row depend on the others of its batch by rounding.
  OutputComparison comparison{OutputComparison::Kind::kTolerance, 1e-4, 1e-5};
};

// The command line of ferry-bench. Flags are named as perf_analyzer's where the meaning is the same.

// What is measured: a load, or several one after the other.
struct MeasureOptions {
  std::string model;
  std::string version;
  std::string url = "localhost:8001";
  int64_t batch = 1;  // rows of a request

  std::vector<double> concurrencies;  // closed loop
  std::vector<double> rates;          // open loop
  std::string arrivals = "poisson";   // of an open loop
  std::string trace;                  // file with the times of an open loop
  std::string intervals;              // file with the gaps of an open loop
  double trace_speed = 1;
  std::optional<Duration> trace_clip;
  std::string max_outstanding;  // number; empty: no cap
  bool wait_when_full = false;

  Duration warmup = std::chrono::seconds(2);
  Duration duration = std::chrono::seconds(10);
  Duration deadline{};  // of a call; zero: none
  double percentile = 99;
  std::string scenario;               // empty, or one of MLPerf's
  std::optional<Duration> objective;  // search for the highest rate whose percentile is within it

  std::string input_data = "random";  // zero, random, a JSON file, a folder or images:PATH
  std::string image_scaling = "none";
  std::vector<std::string> shapes;
  std::vector<std::string> ranges;
  int64_t string_length = 16;
  int64_t distinct = 16;  // requests with data of their own
  std::vector<std::string> parameters;
  std::optional<uint64_t> priority;
  std::optional<Duration> queue_timeout;  // at the server
  std::pair<double, Duration> cancel{};   // share of the calls, and after how long
  std::string mix;                        // file with classes of requests
  std::optional<Verification> verify;
  uint64_t seed = 1;

  int threads = 0;   // 0: by the cores
  int channels = 2;  // of each thread
  bool streaming = false;
  std::vector<std::string> headers;
  std::string compression = "none";
  bool tls = false;
  std::string root_certificates;
  std::string private_key;
  std::string certificate_chain;

  std::string metrics_url;  // empty: none
  std::string csv;
  std::string json;
  std::string html;
  std::string hgrm;
  bool quiet = false;  // no live line
  std::vector<std::string> assertions;

  std::vector<std::string> arguments;  // as they were typed
};

struct SelfTestOptions {
  Duration duration = std::chrono::seconds(3);
  int64_t bytes = 4096;
  double rate = 2000;
};

// A server for the self test's own use.
struct NullServerOptions {
  int64_t bytes = 4096;
};

struct CompareOptions {
  std::vector<std::string> baseline;
  std::vector<std::string> candidate;
  double threshold = 0.02;
};

struct ReportOptions {
  std::vector<std::string> results;
  std::string html;
};

struct BenchText {
  std::string text;
};

using BenchCommand =
    std::variant<MeasureOptions, SelfTestOptions, NullServerOptions, CompareOptions, ReportOptions, BenchText>;

//   INVALID_ARGUMENT  what is wrong, for a person
Result<BenchCommand> ParseBenchCommand(const std::vector<std::string>& arguments);

// "data" or "alone", and after a colon a comparison as ParseOutputComparison() has it: "alone:argmax".
Result<Verification> ParseVerification(std::string_view text);

// "64", "1,2,4", "1:8:1" (to the end, by steps) or "1:64:x2" (by factors).
Result<std::vector<double>> ParseRange(const std::string& text);

}  // namespace ferry

#endif  // FERRY_LOADGEN_BENCH_OPTIONS_H_
