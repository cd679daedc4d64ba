#ifndef FERRY_LOADGEN_SELF_TEST_H_
#define FERRY_LOADGEN_SELF_TEST_H_

#include <string>

#include "ferry/status.h"
#include "loadgen/bench_options.h"

namespace ferry {

// What this host and this program can measure at most, against a server in a process of its own that answers at once
// (`ferry-bench null-server`): the processor time of a request beside that of a bare loop which sends the same bytes and
// records nothing, and how late requests of an open loop are sent.
struct SelfTestResult {
  double bare_cpu_us = 0;   // of a request
  double bench_cpu_us = 0;  // of a request
  double bare_rate = 0;     // requests per second
  double bench_rate = 0;
  Duration lateness_p50{};
  Duration lateness_p99{};
  Duration lateness_max{};
};

//   UNAVAILABLE  the server did not start
Result<SelfTestResult> RunSelfTest(const SelfTestOptions& options);

std::string SelfTestText(const SelfTestOptions& options, const SelfTestResult& result);

// Serves until standard input is closed; prints its port first. For RunSelfTest().
Status RunNullServer(int64_t answer_bytes);

}  // namespace ferry

#endif  // FERRY_LOADGEN_SELF_TEST_H_
