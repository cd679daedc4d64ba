// Prints what ferry-bench's histogram makes of values, for a test that compares it with another histogram: reads nanoseconds
// as 64-bit integers from standard input, and writes a line "QUANTILE NANOSECONDS" for each argument.

#include <cstdio>
#include <cstdlib>

#include "loadgen/latency_histogram.h"

int main(int argc, char** argv) {
  ferry::LatencyHistogram histogram;
  int64_t value = 0;
  while (std::fread(&value, sizeof value, 1, stdin) == 1) histogram.Record(std::chrono::nanoseconds(value));
  for (int i = 1; i < argc; ++i) {
    std::printf("%s %lld\n", argv[i], static_cast<long long>(histogram.Quantile(std::atof(argv[i])).count()));
  }
}
