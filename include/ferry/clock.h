#ifndef FERRY_CLOCK_H_
#define FERRY_CLOCK_H_

#include <chrono>
#include <cstdint>

#include "ferry/mutex.h"

namespace ferry {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// As a deadline: never.
inline constexpr TimePoint kNever = TimePoint::max();

// So many microseconds, of which a user may ask for any number: a hundred years stand for all longer times, so that adding
// them to a time of this century cannot overflow.
inline std::chrono::microseconds BoundedMicroseconds(uint64_t count) {
  constexpr uint64_t kLongest = 3'155'760'000'000'000;
  return std::chrono::microseconds(count < kLongest ? count : kLongest);
}

// Clock is the one source of time and of timed waits, passed to whatever needs either. Tests pass a clock that moves
// only when told (tests/support/fake_clock.h), so no test of the core sleeps.
//
// Threading: thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  virtual TimePoint Now() const = 0;

  // Waits until `condition` is notified or `deadline` has passed; may also return early for no reason, so the caller
  // looks at its state and at Now() again. With kNever it waits for the notification alone.
  virtual void WaitUntil(Mutex& mutex, CondVar& condition, TimePoint deadline) FERRY_REQUIRES(mutex) = 0;
};

// The machine's steady clock.
class SystemClock final : public Clock {
 public:
  TimePoint Now() const override;
  void WaitUntil(Mutex& mutex, CondVar& condition, TimePoint deadline) override FERRY_REQUIRES(mutex);
};

}  // namespace ferry

#endif  // FERRY_CLOCK_H_
