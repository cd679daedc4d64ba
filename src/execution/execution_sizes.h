#ifndef FERRY_EXECUTION_EXECUTION_SIZES_H_
#define FERRY_EXECUTION_EXECUTION_SIZES_H_

#include <functional>
#include <map>
#include <optional>

#include "ferry/clock.h"

namespace ferry {

// The rows that an execution gets for a batch of so many rows: as many, or more where that was measured to take less time
// (a matrix product may have a fast path for 4 rows and none for 2). Rows beyond the batch's own are thrown away.
class ExecutionSizes {
 public:
  int64_t For(int64_t rows) const {
    const auto rounded = rounded_.find(rows);
    return rounded == rounded_.end() ? rows : rounded->second;
  }
  void RoundUp(int64_t rows, int64_t to) { rounded_[rows] = to; }
  const std::map<int64_t, int64_t>& rounded() const { return rounded_; }

 private:
  std::map<int64_t, int64_t> rounded_;
};

// Runs and times one execution of so many rows. Nothing: it failed, or there is no time for more.
using TimedRun = std::function<std::optional<Duration>(int64_t rows)>;

// Measures the sizes up to `max_rows` (and up to 64: beyond that a row more or less is little) a few times each. What
// seems to be cheaper rounded up is run once more in turns with what it is rounded up to, so that a busy moment of the
// machine decides nothing; a gain counts from 5 % and 50 µs. The smallest sizes come first: when time is short they count.
ExecutionSizes MeasureExecutionSizes(int64_t max_rows, const TimedRun& run);

}  // namespace ferry

#endif  // FERRY_EXECUTION_EXECUTION_SIZES_H_
