#ifndef FERRY_LOADGEN_LOAD_VALIDITY_H_
#define FERRY_LOADGEN_LOAD_VALIDITY_H_

#include "loadgen/bench_result.h"

namespace ferry {

// Whether requests of an open loop were sent late: the 99th percentile of the lateness is over 1 ms and over a tenth of the
// median response, so that the schedule was not kept. One late request among thirty does not show that.
bool GeneratorFellBehind(const LoadPoint& point);

// Whether responses took longer and longer, as they do where more is offered than served: percentiles then depend on the
// duration of the load.
bool BacklogGrew(const LoadPoint& point);

// Says in the point's `invalid` where it shows the generator more than the server, and in its `notes` what a reader should
// know. `busy` is how many cores the generator's process used.
//
// Invalid is a load whose generator fell behind, one with wrong answers, and one without any answer.
void CheckValidity(double busy, LoadPoint& point);

}  // namespace ferry

#endif  // FERRY_LOADGEN_LOAD_VALIDITY_H_
