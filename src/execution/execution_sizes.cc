#include "execution/execution_sizes.h"

#include <algorithm>
#include <vector>

namespace ferry {

namespace {

constexpr int64_t kLargestMeasured = 64;
constexpr int kFirstRuns = 3;
constexpr int kTurns = 7;
// Of one size at first, unless one run takes longer.
constexpr Duration kFirstTime = std::chrono::milliseconds(30);

bool ClearlyLess(Duration a, Duration b) { return a < b - b / 20 && b - a > std::chrono::microseconds(50); }

// The shortest of a few runs.
std::optional<Duration> TimeOf(int64_t rows, const TimedRun& run) {
  Duration best = Duration::max();
  Duration spent{0};
  for (int i = 0; i < kFirstRuns && spent < kFirstTime; ++i) {
    const std::optional<Duration> time = run(rows);
    if (!time) return std::nullopt;
    best = std::min(best, *time);
    spent += *time;
  }
  return best;
}

// Whether `larger` wins in turns: by the medians.
bool Confirmed(int64_t rows, int64_t larger, const TimedRun& run) {
  std::vector<Duration> times;
  std::vector<Duration> larger_times;
  for (int i = 0; i < kTurns; ++i) {
    const std::optional<Duration> time = run(rows);
    const std::optional<Duration> larger_time = run(larger);
    if (!time || !larger_time) return false;
    times.push_back(*time);
    larger_times.push_back(*larger_time);
  }
  std::ranges::nth_element(times, times.begin() + kTurns / 2);
  std::ranges::nth_element(larger_times, larger_times.begin() + kTurns / 2);
  return ClearlyLess(larger_times[kTurns / 2], times[kTurns / 2]);
}

}  // namespace

ExecutionSizes MeasureExecutionSizes(int64_t max_rows, const TimedRun& run) {
  ExecutionSizes sizes;
  std::map<int64_t, Duration> times;
  for (int64_t rows = 1; rows <= std::min(max_rows, kLargestMeasured); ++rows) {
    const std::optional<Duration> time = TimeOf(rows, run);
    if (!time) break;
    times[rows] = *time;
  }
  for (const auto& [rows, time] : times) {
    const auto fastest = std::min_element(times.upper_bound(rows), times.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    if (fastest == times.end() || !ClearlyLess(fastest->second, time)) continue;
    if (Confirmed(rows, fastest->first, run)) sizes.RoundUp(rows, fastest->first);
  }
  return sizes;
}

}  // namespace ferry
