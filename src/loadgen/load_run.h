#ifndef FERRY_LOADGEN_LOAD_RUN_H_
#define FERRY_LOADGEN_LOAD_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "loadgen/load_worker.h"

namespace ferry {

// One point of load.
struct LoadPlan {
  LoadShape shape;
  // Open loop: makes the schedule of a seed, the same one each time.
  std::function<Schedule(uint64_t seed)> schedule;
  RequestMix mix;
  uint64_t seed = 0;
  Duration warmup{};                             // in front, of the same load; not counted
  Duration duration{};                           // what is counted
  Duration patience = std::chrono::seconds(30);  // for answers after the last request
  size_t most_under_way = SIZE_MAX;
  bool wait_when_full = false;
  AnswerCheck check;
};

// What a person may watch meanwhile.
struct LoadStatus {
  Duration elapsed{};
  bool warming_up = false;
  uint64_t offered = 0;
  uint64_t ok = 0;
  uint64_t failed = 0;
  size_t under_way = 0;
  LatencyHistogram recent;  // responses since the last time
};

// Waits until `time` and answers whether somebody wants the load to end.
using WaitOrStop = std::function<bool(TimePoint time)>;

// What the server has done since the watch began, as far as it says.
struct ServerAccount {
  std::optional<ServerSide> statistics;
  std::vector<MetricChange> metrics;
};
using ServerWatch = std::function<ServerAccount()>;

// What surrounds a run.
struct LoadSurroundings {
  std::function<ServerWatch()> watch_server;    // begins a watch
  std::function<void(const LoadStatus&)> show;  // once a second
  WaitOrStop wait_or_stop;
};

// Puts the load on a server and says what came of it. What was measured until somebody stopped it is kept, and so it is
// when the server does not answer any more: in both cases the point's `invalid` says so.
//
// Of an open loop each worker sends every n-th request of one schedule.
LoadPoint RunLoad(std::span<const std::unique_ptr<LoadWorker>> workers, const LoadPlan& plan,
                  const LoadSurroundings& surroundings);

}  // namespace ferry

#endif  // FERRY_LOADGEN_LOAD_RUN_H_
