#ifndef FERRY_LOADGEN_METRICS_SCRAPE_H_
#define FERRY_LOADGEN_METRICS_SCRAPE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/clock.h"
#include "ferry/status.h"
#include "loadgen/bench_result.h"

namespace ferry {

// Values of a metrics page by series, which is a name with its labels as the page has them.
using Metrics = std::map<std::string, double>;

// Reads Prometheus' text format; lines that are none of it are passed over, and time stamps left out.
Metrics ParseMetrics(std::string_view text);

// The series whose values differ, in the order of their names. One that is new counts from 0.
std::vector<MetricChange> Changes(const Metrics& before, const Metrics& after);

// The body of a page, "http://HOST:PORT/PATH" (the path is /metrics if left out).
//
// Errors: INVALID_ARGUMENT for another kind of address; UNAVAILABLE where there is no answer within `patience`, or another than
//         200.
Result<std::string> FetchPage(const std::string& url, Duration patience);

}  // namespace ferry

#endif  // FERRY_LOADGEN_METRICS_SCRAPE_H_
