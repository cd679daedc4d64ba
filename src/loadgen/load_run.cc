#include "loadgen/load_run.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/load_validity.h"

namespace ferry {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Threads are there before the first request is due.
constexpr Duration kLead = milliseconds(20);
// A server that has answered nothing but errors for so long is gone.
constexpr Duration kGone = seconds(5);

Duration ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) { return seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec); };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Every `count`-th time of a schedule, beginning with number `first`.
Schedule Part(Schedule schedule, size_t first, size_t count) {
  return [schedule = std::move(schedule), skip = first, count]() mutable {
    for (; skip > 0; --skip) {
      if (!schedule()) return std::optional<DueRequest>();
    }
    skip = count - 1;
    return schedule();
  };
}

// Rows of an answered request.
double MeanRows(const RequestMix& mix, const LoadPoint& point) {
  double rows = 0;
  for (size_t i = 0; i < point.classes.size(); ++i) {
    rows += static_cast<double>(point.classes[i].ok) * static_cast<double>(mix.classes[i].rows);
  }
  return rows > 0 ? rows / static_cast<double>(point.ok) : static_cast<double>(mix.classes.front().rows);
}

class LoadRun {
 public:
  LoadRun(std::span<const std::unique_ptr<LoadWorker>> workers, const LoadPlan& plan,
          const LoadSurroundings& surroundings)
      : workers_(workers), plan_(plan), surroundings_(surroundings), begin_(std::chrono::steady_clock::now() + kLead) {
    window_.begin = begin_ + plan.warmup;
    window_.end = window_.begin + plan.duration;
    window_.by_due = plan.schedule != nullptr;
  }

  LoadPoint Run() {
    StartWorkers();
    if (Watch(window_.begin)) {
      const ServerWatch server = surroundings_.watch_server();
      const Duration cpu_before = ProcessorTime();
      const TimePoint wall_before = std::chrono::steady_clock::now();
      Watch(window_.end);
      const double wall = Seconds(std::chrono::steady_clock::now() - wall_before);
      cpu_ = Seconds(ProcessorTime() - cpu_before);
      busy_ = wall > 0 ? cpu_ / wall : 0;
      server_ = server();
    }
    if (!ended_early_.empty()) {
      ended_ = std::chrono::steady_clock::now();
      for (LoadWorker* worker : started_) worker->Stop();
    }
    for (LoadWorker* worker : started_) worker->Wait();
    return Result();
  }

 private:
  void StartWorkers() {
    const size_t count = workers_.size();
    const auto concurrency = static_cast<size_t>(plan_.shape.value);
    for (size_t i = 0; i < count; ++i) {
      WorkerLoad load;
      load.mix = &plan_.mix;
      load.seed = plan_.seed * count + i;
      load.window = window_;
      load.patience = plan_.patience;
      load.start = begin_;
      load.check = plan_.check;
      load.wait_when_full = plan_.wait_when_full;
      if (window_.by_due) {
        load.schedule = Part(plan_.schedule(plan_.seed), i, count);
        load.most_under_way = Share(plan_.most_under_way, i);
      } else {
        load.concurrency = Share(concurrency, i);
      }
      // With fewer places than workers some have none.
      if (window_.by_due ? load.most_under_way == 0 : load.concurrency == 0) continue;
      workers_[i]->Start(load);
      started_.push_back(workers_[i].get());
    }
  }

  size_t Share(size_t total, size_t i) const {
    if (total == SIZE_MAX) return total;
    return total / workers_.size() + (i < total % workers_.size() ? 1 : 0);
  }

  // Until the time, with a look each second. False: the load was ended.
  bool Watch(TimePoint until) {
    while (ended_early_.empty()) {
      const TimePoint now = std::chrono::steady_clock::now();
      if (now >= until) return true;
      if (surroundings_.wait_or_stop(std::min(until, now + seconds(1)))) {
        ended_early_ = "it was stopped";
        break;
      }
      Look();
    }
    return false;
  }

  void Look() {
    LoadStatus status;
    status.elapsed = std::chrono::steady_clock::now() - begin_;
    status.warming_up = status.elapsed < plan_.warmup;
    for (LoadWorker* worker : started_) {
      const LoadWorker::Progress progress = worker->TakeProgress();
      status.offered += progress.offered;
      status.ok += progress.ok;
      status.failed += progress.failed;
      status.under_way += progress.under_way;
      status.recent.Merge(progress.recent);
    }
    if (status.ok > last_ok_ || status.failed == 0) {
      last_ok_ = status.ok;
      last_good_ = status.elapsed;
    }
    if (status.elapsed - last_good_ >= kGone) ended_early_ = "the server has answered nothing but errors for 5 s";
    surroundings_.show(status);
  }

  LoadPoint Result() const {
    LoadRecorder all(window_, ClassNames(plan_.mix));
    for (const LoadWorker* worker : started_) all.Merge(worker->recorder());
    LoadPoint point = all.Result();
    point.load = plan_.shape;
    point.rows = MeanRows(plan_.mix, point);
    point.discarded = plan_.warmup;
    point.server = server_.statistics;
    point.metrics = server_.metrics;
    if (point.offered > 0) point.client_cpu_us = cpu_ * 1e6 / static_cast<double>(point.offered);
    if (!ended_early_.empty()) {
      point.window = point.measured = std::max(ended_ - window_.begin, Duration::zero());
      const double seconds_measured = Seconds(point.measured);
      point.requests_per_second = seconds_measured > 0 ? static_cast<double>(point.ok) / seconds_measured : 0;
      point.invalid.push_back(StrCat("the load ended early: ", ended_early_));
    }
    CheckValidity(busy_, point);
    return point;
  }

  const std::span<const std::unique_ptr<LoadWorker>> workers_;
  const LoadPlan& plan_;
  const LoadSurroundings& surroundings_;
  const TimePoint begin_;
  MeasuredWindow window_;
  std::vector<LoadWorker*> started_;
  std::string ended_early_;  // why
  TimePoint ended_;
  uint64_t last_ok_ = 0;
  Duration last_good_{};
  ServerAccount server_;
  double cpu_ = 0;   // seconds of the measured part
  double busy_ = 0;  // cores of this process, in it
};

}  // namespace

LoadPoint RunLoad(std::span<const std::unique_ptr<LoadWorker>> workers, const LoadPlan& plan,
                  const LoadSurroundings& surroundings) {
  return LoadRun(workers, plan, surroundings).Run();
}

}  // namespace ferry
