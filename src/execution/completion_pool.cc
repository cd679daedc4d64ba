#include "execution/completion_pool.h"

namespace ferry {

CompletionPool::CompletionPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

CompletionPool::~CompletionPool() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    posted_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void CompletionPool::Post(std::function<void()> task) {
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  posted_.NotifyOne();
}

void CompletionPool::Loop() {
  MutexLock lock(mutex_);
  for (;;) {
    while (tasks_.empty() && !closing_) posted_.Wait(mutex_);
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    mutex_.Unlock();
    task();
    task = nullptr;  // what it holds is released without the lock
    mutex_.Lock();
  }
}

}  // namespace ferry
