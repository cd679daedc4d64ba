#ifndef FERRY_LOADGEN_DURATION_UNITS_H_
#define FERRY_LOADGEN_DURATION_UNITS_H_

#include "ferry/clock.h"

namespace ferry {

// Durations as numbers, for figures and reports.
inline double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }
inline double Milliseconds(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

}  // namespace ferry

#endif  // FERRY_LOADGEN_DURATION_UNITS_H_
