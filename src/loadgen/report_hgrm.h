#ifndef FERRY_LOADGEN_REPORT_HGRM_H_
#define FERRY_LOADGEN_REPORT_HGRM_H_

#include <string>

#include "loadgen/latency_histogram.h"

namespace ferry {

// The percentiles of a histogram in the text format of HdrHistogram (".hgrm"), which its plotters and others read;
// milliseconds.
std::string HgrmReport(const LatencyHistogram& histogram);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_HGRM_H_
