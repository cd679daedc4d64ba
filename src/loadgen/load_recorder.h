#ifndef FERRY_LOADGEN_LOAD_RECORDER_H_
#define FERRY_LOADGEN_LOAD_RECORDER_H_

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ferry/clock.h"
#include "loadgen/bench_result.h"

namespace ferry {

// When things happened to one request.
struct CallTimes {
  TimePoint due;  // by the schedule; in a closed loop when it was sent
  TimePoint sent;
  TimePoint done;
};

// How one request ended.
struct CallEnd {
  int code = 0;  // gRPC's
  std::string_view message;
  std::string_view fault{};  // answered with OK, and what the output check found to be wrong with it
  bool given_up = false;     // the load cancelled it, as it was told to, before it had an answer
};

// The part of a load that counts.
struct MeasuredWindow {
  TimePoint begin;
  TimePoint end;
  // In a closed loop a request counts when its answer comes inside, since what is under way at the ends would bias the rate;
  // in an open loop when it was due inside, since what the server owes must not drop out.
  bool by_due = false;

  bool Holds(const CallTimes& times) const {
    const TimePoint time = by_due ? times.due : times.done;
    return time >= begin && time < end;
  }
};

// LoadRecorder counts the requests of one thread of a load. Recording takes a constant time, and memory does not grow with
// the number of requests.
//
// Threading: one thread at a time.
class LoadRecorder {
 public:
  LoadRecorder(const MeasuredWindow& window, const std::vector<std::string>& class_names);

  void Done(const CallTimes& times, const CallEnd& end, size_t class_index);
  // What the cap on requests under way kept back: offered, and failed.
  void Dropped(TimePoint due, size_t class_index);

  // Takes in what another thread has counted of the same load.
  void Merge(const LoadRecorder& other);

  // The part that was counted, without what only the server or the process can tell.
  LoadPoint Result() const;

  // For a live line: everything since the start, counted or not.
  struct Totals {
    uint64_t ok = 0;
    uint64_t failed = 0;
  };
  Totals totals() const { return totals_; }

 private:
  // Of a whole run so many at most, each with a histogram of its own.
  static constexpr int64_t kMostSlots = 300;
  struct Slot {
    uint64_t ok = 0;
    uint64_t failed = 0;
    uint64_t cancelled = 0;
    LatencyHistogram response;
  };

  Slot& SlotOf(const CallTimes& times);
  void Answered(const CallTimes& times, std::string_view fault, size_t class_index);
  void CountFailure(std::string code, std::string_view message);

  const MeasuredWindow window_;
  const Duration slot_;  // a second, or more in a long run
  std::vector<Slot> slots_;
  LatencyHistogram response_;
  LatencyHistogram service_;
  LatencyHistogram lateness_;
  std::vector<ClassResult> classes_;
  std::map<std::pair<std::string, std::string>, uint64_t> failures_;
  double shares_ = 0;  // of requests answered with OK in a closed loop, inside the window
  uint64_t ok_ = 0;
  uint64_t failed_ = 0;
  uint64_t dropped_ = 0;
  uint64_t cancelled_ = 0;
  uint64_t wrong_ = 0;
  std::string first_fault_;
  TimePoint last_ = TimePoint::min();
  Totals totals_;
};

// gRPC's name of a status code.
std::string CodeName(int code);

}  // namespace ferry

#endif  // FERRY_LOADGEN_LOAD_RECORDER_H_
