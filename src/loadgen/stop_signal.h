#ifndef FERRY_LOADGEN_STOP_SIGNAL_H_
#define FERRY_LOADGEN_STOP_SIGNAL_H_

#include "ferry/clock.h"

namespace ferry {

// StopSignal waits for time to pass or for SIGINT or SIGTERM, which end a measurement and keep what it has.
//
// Threading: made by the first thread before there are others, and used by it alone.
class StopSignal {
 public:
  // From now on these signals are held back in every thread.
  StopSignal();

  // True as soon as a signal has come, now or earlier; false when it is `time`.
  bool WaitUntil(TimePoint time);
  bool came() const { return came_; }

 private:
  bool came_ = false;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_STOP_SIGNAL_H_
