#ifndef FERRY_LOADGEN_REPORT_HTML_H_
#define FERRY_LOADGEN_REPORT_HTML_H_

#include <string>
#include <vector>

#include "loadgen/bench_result.h"

namespace ferry {

// A page for people about one result, or about several next to each other (the first is what the others are compared with).
// One file without scripts, which loads nothing from elsewhere. REQUIRES: there is a result.
std::string HtmlReport(const std::vector<BenchResult>& results);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_HTML_H_
