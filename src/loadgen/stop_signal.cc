#include "loadgen/stop_signal.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

namespace ferry {

namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool StopSignal::WaitUntil(TimePoint time) {
  const sigset_t signals = StopSignals();
  while (!came_) {
    const Duration left = std::max<Duration>(time - std::chrono::steady_clock::now(), Duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    came_ = sigtimedwait(&signals, nullptr, &timeout) > 0;
    if (!came_ && std::chrono::steady_clock::now() >= time) return false;
  }
  return true;
}

}  // namespace ferry
