#ifndef FERRY_LOADGEN_LOAD_VALIDITY_H_
#define FERRY_LOADGEN_LOAD_VALIDITY_H_

#include "loadgen/bench_result.h"

namespace ferry {

// Says in the point's `invalid` where it shows the generator more than the server, and in its `notes` what a reader should
// know. `busy` is how many cores the generator's process used.
//
// Invalid is an open loop whose requests were sent late: by the 99th percentile of the lateness over 1 ms and over a tenth
// of the median response, since from there on it is the schedule that was not kept; and whatever has no answer at all.
void CheckValidity(double busy, LoadPoint& point);

}  // namespace ferry

#endif  // FERRY_LOADGEN_LOAD_VALIDITY_H_
