#ifndef FERRY_MUTEX_H_
#define FERRY_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

// Clang's thread safety annotations (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html): which mutex guards what is
// checked by the compiler in the preset `thread-safety`. Other compilers see nothing.
#if defined(__clang__)
#define FERRY_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define FERRY_THREAD_ANNOTATION(x)
#endif
#define FERRY_GUARDED_BY(mutex) FERRY_THREAD_ANNOTATION(guarded_by(mutex))
#define FERRY_REQUIRES(mutex) FERRY_THREAD_ANNOTATION(requires_capability(mutex))
#define FERRY_EXCLUDES(mutex) FERRY_THREAD_ANNOTATION(locks_excluded(mutex))

namespace ferry {

// Mutex is std::mutex with annotations. Not recursive.
class FERRY_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() FERRY_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() FERRY_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a Mutex for a scope; Unlock() gives it up early, once.
class FERRY_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FERRY_THREAD_ANNOTATION(acquire_capability(mutex)) : mutex_(&mutex) {
    mutex_->Lock();
  }
  ~MutexLock() FERRY_THREAD_ANNOTATION(release_capability()) {
    if (mutex_ != nullptr) mutex_->Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() FERRY_THREAD_ANNOTATION(release_capability()) {
    mutex_->Unlock();
    mutex_ = nullptr;
  }

 private:
  Mutex* mutex_;
};

// CondVar is std::condition_variable over a Mutex. Waits may end without a notification: test the condition in a loop.
// Waits with a deadline go through Clock::WaitUntil, so that tests own the time.
class CondVar {
 public:
  void Wait(Mutex& mutex) FERRY_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  friend class SystemClock;
  void WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline) FERRY_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_until(lock, deadline);
    lock.release();
  }
  std::condition_variable condition_;
};

}  // namespace ferry

#endif  // FERRY_MUTEX_H_
