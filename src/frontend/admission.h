#ifndef FERRY_FRONTEND_ADMISSION_H_
#define FERRY_FRONTEND_ADMISSION_H_

#include <array>
#include <cstdint>

#include "ferry/clock.h"
#include "ferry/mutex.h"
#include "ferry/statistics.h"
#include "ferry/status.h"

namespace ferry {

// Admission bounds the infer calls inside the server, in number and in bytes, and closes the door before it stops. A call
// is let in twice: when its headers are here, so that the body of a refused one is not even read, and when its message is.
//
// Headers do not say how large a message will be. Until it is here a call counts as much as the largest of the messages
// of late: a maximum that each smaller message wears down a little.
//
// Threading: thread-safe.
class Admission {
 public:
  struct Limits {
    int64_t max_calls = 16384;
    int64_t max_bytes = int64_t{2} << 30;
  };

  explicit Admission(Limits limits);

  // At a call's headers. OK: TakeMessage() or Abandon() has to follow.
  //   UNAVAILABLE  the door is closed, or a bound is reached; counted by reason
  [[nodiscard]] Status BeginCall();

  // When its message of so many bytes has arrived. OK: Leave() has to follow. A call that is alone is let in whatever its
  // size. Errors as of BeginCall(), and the call is over.
  [[nodiscard]] Status TakeMessage(int64_t bytes);

  // Its message will never come.
  void Abandon();

  // The call with that message has its answer.
  void Leave(int64_t bytes);

  std::array<uint64_t, kRefusals> refused() const;
  int64_t calls() const;  // with their messages here
  int64_t bytes() const;  // of those messages

  void Close();

  // Waits until every call whose message had been taken has left; false when `deadline` came first. A client that never
  // sends its message does not hold up a stop.
  bool WaitUntilEmpty(Clock& clock, TimePoint deadline);

  bool closed() const;

 private:
  Status Refuse(Refusal reason, Status status) FERRY_REQUIRES(mutex_);

  const Limits limits_;

  mutable Mutex mutex_;
  CondVar left_;
  bool closed_ FERRY_GUARDED_BY(mutex_) = false;
  int64_t coming_ FERRY_GUARDED_BY(mutex_) = 0;  // calls whose message is not here yet
  int64_t inside_ FERRY_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ FERRY_GUARDED_BY(mutex_) = 0;
  int64_t expected_ FERRY_GUARDED_BY(mutex_);  // bytes of a message that is still coming
  std::array<uint64_t, kRefusals> refused_ FERRY_GUARDED_BY(mutex_){};
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_ADMISSION_H_
