#ifndef FERRY_LOADGEN_TRACE_H_
#define FERRY_LOADGEN_TRACE_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "ferry/clock.h"
#include "ferry/status.h"

namespace ferry {

// A request of a trace that is replayed.
struct TraceRequest {
  Duration at{};           // from the start of the load
  std::string class_name;  // of the mix, or what the trace has for it: a function's name; may be empty
};

struct TraceOptions {
  double speed = 1;              // 2 replays in half the time
  std::optional<Duration> clip;  // requests that would be due then or later, at that speed, are left out
  uint64_t seed = 1;             // where in its minute a request falls, if the trace does not tell
};

// Reads a trace, in the format that its header shows:
//   t_ms or t_ms,class                                  ours: milliseconds from the start of the load
//   HashOwner,HashApp,HashFunction,Trigger,1,2,...      Azure Functions 2019: invocations in each minute, which are spread
//                                                       over it uniformly; the class is the function
//   app,func,end_timestamp,duration                     Azure Functions 2021, seconds: a request is due at end - duration
//   TIMESTAMP,ContextTokens,GeneratedTokens             Azure LLM inference, dates and times
// The last two have no start of their own: their first request is due at once.
//
// Returns the requests in the order in which they are due. Errors: INVALID_ARGUMENT, with the number of the line.
Result<std::vector<TraceRequest>> ReadTrace(std::istream& csv, const TraceOptions& options);

// Reads the gaps between requests: a number of microseconds a line, as perf_analyzer has them.
//
// Errors: INVALID_ARGUMENT, with the number of the line; also where all gaps are 0.
Result<std::vector<Duration>> ReadIntervals(std::istream& text);

// Which of `classes` each request of a trace is: the one of its name; else that of its function, where functions take turns
// on the classes in the order in which they come first; nothing where the trace does not tell.
std::vector<std::optional<size_t>> AssignClasses(const std::vector<TraceRequest>& trace,
                                                 const std::vector<std::string>& classes);

}  // namespace ferry

#endif  // FERRY_LOADGEN_TRACE_H_
