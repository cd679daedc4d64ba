#include "frontend/admission.h"

#include <algorithm>

#include "base/strings.h"
#include "ferry/check.h"

namespace ferry {

namespace {

// What a message is taken to be before any has come, and at least: gRPC buffers as much of a stream unasked.
constexpr int64_t kFirstExpected = int64_t{1} << 20;
constexpr int64_t kLeastExpected = int64_t{64} << 10;
// A smaller message takes this part off the expectation.
constexpr int64_t kWear = 64;

}  // namespace

Admission::Admission(Limits limits) : limits_(limits), expected_(kFirstExpected) {}

Status Admission::Refuse(Refusal reason, Status status) {
  ++refused_[static_cast<size_t>(reason)];
  return status;
}

Status Admission::BeginCall() {
  MutexLock lock(mutex_);
  if (closed_) return Refuse(Refusal::kStopping, UnavailableError("the server is shutting down"));
  if (coming_ + inside_ >= limits_.max_calls) {
    return Refuse(Refusal::kCalls,
                  UnavailableError(StrCat("Exceeds maximum of ", limits_.max_calls, " calls in flight")));
  }
  const int64_t taken = bytes_ + coming_ * expected_;
  if (taken > 0 && taken + expected_ > limits_.max_bytes) {
    return Refuse(Refusal::kBytes,
                  UnavailableError(StrCat("Exceeds maximum of ", limits_.max_bytes, " bytes in flight")));
  }
  ++coming_;
  return Status();
}

Status Admission::TakeMessage(int64_t bytes) {
  MutexLock lock(mutex_);
  --coming_;
  expected_ = std::max({bytes, expected_ - expected_ / kWear, kLeastExpected});
  if (closed_) return Refuse(Refusal::kStopping, UnavailableError("the server is shutting down"));
  if (bytes_ > 0 && bytes_ + bytes > limits_.max_bytes) {
    return Refuse(Refusal::kBytes, UnavailableError(StrCat("a message of ", bytes, " bytes exceeds the maximum of ",
                                                           limits_.max_bytes, " bytes in flight")));
  }
  ++inside_;
  bytes_ += bytes;
  return Status();
}

void Admission::Abandon() {
  MutexLock lock(mutex_);
  --coming_;
}

void Admission::Leave(int64_t bytes) {
  MutexLock lock(mutex_);
  FERRY_CHECK(inside_ > 0, "a call leaves once, after it was let in");
  bytes_ -= bytes;
  if (--inside_ == 0) left_.NotifyAll();
}

std::array<uint64_t, kRefusals> Admission::refused() const {
  MutexLock lock(mutex_);
  return refused_;
}

int64_t Admission::calls() const {
  MutexLock lock(mutex_);
  return inside_;
}

int64_t Admission::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
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
