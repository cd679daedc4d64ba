#ifndef FERRY_FRONTEND_ADMISSION_H_
#define FERRY_FRONTEND_ADMISSION_H_

#include <cstdint>

#include "ferry/clock.h"
#include "ferry/mutex.h"

namespace ferry {

// Admission counts the infer calls inside the server and closes the door before it stops.
//
// Threading: thread-safe.
class Admission {
 public:
  // Lets one call in, unless the door is closed. Each call let in leaves once.
  [[nodiscard]] bool TryEnter();
  void Leave();

  // True, and the call is counted as refused, when the door is closed: asked before a call's body is read.
  bool RefuseEarly();
  uint64_t refused() const;

  void Close();

  // Waits until every call has left; false when `deadline` came first.
  bool WaitUntilEmpty(Clock& clock, TimePoint deadline);

  bool closed() const;

 private:
  mutable Mutex mutex_;
  CondVar left_;
  bool closed_ FERRY_GUARDED_BY(mutex_) = false;
  size_t inside_ FERRY_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ FERRY_GUARDED_BY(mutex_) = 0;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_ADMISSION_H_
