#ifndef FERRY_LOADGEN_REPORT_JSON_H_
#define FERRY_LOADGEN_REPORT_JSON_H_

#include <string>
#include <string_view>

#include "ferry/status.h"
#include "loadgen/bench_result.h"

namespace ferry {

// The whole result, for `compare` and for scripts: "schema" is "ferry-bench/1" and changes when a reader would have to. Each
// histogram has all its buckets, so that a reader can merge them and ask for any quantile; the usual figures stand beside
// them, for people with jq. Times end in their unit.
std::string JsonReport(const BenchResult& result);

//   INVALID_ARGUMENT  not JSON, or of another schema, which the message names
Result<BenchResult> ReadJsonReport(std::string_view text);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_JSON_H_
