#ifndef FERRY_LOADGEN_REPORT_TABLE_H_
#define FERRY_LOADGEN_REPORT_TABLE_H_

#include <string>

#include "loadgen/bench_result.h"
#include "loadgen/load_run.h"

namespace ferry {

// What a terminal shows of a result: a line for each point; under it, for each, what went wrong, what the server says of
// its time and its batches, and whether the figures may be trusted. A quantile with too few values behind it is "n<299".
std::string TableReport(const BenchResult& result);

// One line about a load that runs.
std::string LiveLine(const LoadShape& load, const LoadStatus& status);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_TABLE_H_
