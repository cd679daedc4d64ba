#include "frontend/admission.h"

#include "ferry/check.h"

namespace ferry {

bool Admission::TryEnter() {
  MutexLock lock(mutex_);
  if (closed_) {
    ++refused_;
    return false;
  }
  ++inside_;
  return true;
}

bool Admission::RefuseEarly() {
  MutexLock lock(mutex_);
  if (closed_) ++refused_;
  return closed_;
}

uint64_t Admission::refused() const {
  MutexLock lock(mutex_);
  return refused_;
}

void Admission::Leave() {
  MutexLock lock(mutex_);
  FERRY_CHECK(inside_ > 0, "a call leaves once, after it was let in");
  if (--inside_ == 0) left_.NotifyAll();
}

void Admission::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

bool Admission::WaitUntilEmpty(Clock& clock, TimePoint deadline) {
  MutexLock lock(mutex_);
  while (inside_ > 0) {
    if (clock.Now() >= deadline) return false;
    clock.WaitUntil(mutex_, left_, deadline);
  }
  return true;
}

bool Admission::closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

}  // namespace ferry
