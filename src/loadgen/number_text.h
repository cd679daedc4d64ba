#ifndef FERRY_LOADGEN_NUMBER_TEXT_H_
#define FERRY_LOADGEN_NUMBER_TEXT_H_

#include <string>

#include "ferry/clock.h"

namespace ferry {

// Numbers as people read them: three digits, never more than five characters (seven with a unit of time), so that they
// stand in narrow columns.

// "0", "4.31", "43.1", "4310", "99999", "431k", "4.31M"; no zeros behind the point that say nothing.
std::string NumberText(double number);

// "870 ns", "870 us", "4.31 ms", "43.0 ms", "12.3 s"; from 1,000 s on, whole seconds.
std::string DurationText(Duration duration);

// The same without zeros that say nothing, "5 ms", for the marks of an axis.
std::string ShortDurationText(Duration duration);

// "2.5 %"; what is not nothing is never "0 %".
std::string ShareText(double part, double whole);

// "p50", "p99.9"
std::string QuantileName(double q);

}  // namespace ferry

#endif  // FERRY_LOADGEN_NUMBER_TEXT_H_
