// What the batcher costs: one decision while many requests wait, and how late the timer answers.
//
//   scripts/bench                 all of it
//   build/release/batching_bench  once it is built

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <semaphore>

#include "batching/expiry_timer.h"
#include "batching/request_queue.h"
#include "ferry/batcher.h"

namespace ferry {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Requests of 8 groups and 2 levels, each with a time limit, as many as asked for.
class FullQueue {
 public:
  explicit FullQueue(int64_t waiting) {
    limits_.levels = 2;
    limits_.policy.timeout = std::chrono::seconds(10);
    for (int64_t i = 0; i < waiting; ++i) Push();
  }

  void Push() {
    auto request = std::make_unique<InferRequest>([](const Result<InferResponse>&) {});
    request->ticket = ++ticket_;
    request->group = {static_cast<int64_t>(random_() % 8)};
    request->priority = 1 + random_() % 2;
    request->enqueued = now_ += microseconds(1);
    queue_.Push(std::move(request));
  }

  Decision DecideNow() { return Decide(queue_.batch_limits(), queue_.Next(now_), now_); }
  Batch Take(const Decision& decision) { return queue_.Take(decision.requests); }

 private:
  std::mt19937 random_{1};
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  uint64_t ticket_ = 0;
  QueueLimits limits_;
  RequestQueue queue_{{32, true, {8, 16}, milliseconds(1)}, limits_};
};

void BM_Decide(benchmark::State& state) {
  FullQueue queue(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(queue.DecideNow());
}
BENCHMARK(BM_Decide)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000);

// Everything that the queue does for a request: in, decided about, out. Reported for each request.
void BM_PushDecideTake(benchmark::State& state) {
  FullQueue queue(state.range(0));
  int64_t requests = 0;
  for (auto _ : state) {
    const Batch batch = queue.Take(queue.DecideNow());
    requests += static_cast<int64_t>(batch.requests.size());
    for (size_t i = 0; i < batch.requests.size(); ++i) queue.Push();
  }
  state.SetItemsProcessed(requests);
}
BENCHMARK(BM_PushDecideTake)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000);

// How late 1,000 requests with a timeout of 50 ms are answered while nobody takes a batch: microseconds at p50 and p99.
void BM_TimeoutLateness(benchmark::State& state) {
  constexpr int kRequests = 1000;
  SystemClock clock;
  std::vector<double> late;
  for (auto _ : state) {
    ModelStatistics statistics;
    ExpiryTimer timer(clock);
    QueueLimits limits;
    limits.policy.timeout = milliseconds(50);
    Batcher batcher({32, true, {}, Duration::zero()}, limits, {clock, statistics, &timer});
    std::counting_semaphore<kRequests> answered(0);
    Mutex mutex;
    for (int i = 0; i < kRequests; ++i) {
      const TimePoint due = clock.Now() + milliseconds(50);
      batcher.Submit(std::make_unique<InferRequest>([&, due](const Result<InferResponse>&) {
        const auto lateness = std::chrono::duration<double, std::micro>(clock.Now() - due);
        {
          MutexLock lock(mutex);
          late.push_back(lateness.count());
        }
        answered.release();
      }));
    }
    for (int i = 0; i < kRequests; ++i) answered.acquire();
  }
  std::ranges::sort(late);
  state.counters["p50_us"] = late[late.size() / 2];
  state.counters["p99_us"] = late[late.size() * 99 / 100];
  state.counters["max_us"] = late.back();
}
BENCHMARK(BM_TimeoutLateness)->Iterations(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ferry
