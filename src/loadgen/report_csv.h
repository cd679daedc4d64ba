#ifndef FERRY_LOADGEN_REPORT_CSV_H_
#define FERRY_LOADGEN_REPORT_CSV_H_

#include <string>

#include "loadgen/bench_result.h"

namespace ferry {

// The points under the column names of perf_analyzer 2.60 (its -f), times in microseconds, so that scripts that read its
// files read these. What it tells apart and this generator does not, the client's sending and receiving, is 0 and part of
// "Network+Server Send/Recv". Percentiles are of the responses, which count from when a request was due.
std::string CsvReport(const BenchResult& result);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_CSV_H_
