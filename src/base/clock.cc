#include "ferry/clock.h"

namespace ferry {

TimePoint SystemClock::Now() const { return std::chrono::steady_clock::now(); }

void SystemClock::WaitUntil(Mutex& mutex, CondVar& condition, TimePoint deadline) {
  if (deadline == kNever) {
    condition.Wait(mutex);
  } else {
    condition.WaitUntil(mutex, deadline);
  }
}

}  // namespace ferry
