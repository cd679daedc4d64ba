#ifndef FERRY_LOADGEN_MIX_DESCRIPTION_H_
#define FERRY_LOADGEN_MIX_DESCRIPTION_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/clock.h"
#include "ferry/status.h"
#include "loadgen/bench_options.h"
#include "loadgen/request_data_options.h"

namespace ferry {

// ClassDescription is one kind of requests of a run, as a person asks for it.
struct ClassDescription {
  std::string model;
  std::string version;      // empty: the server chooses
  double weight = 1;        // of the class among all
  RequestDataOptions data;  // with the name of the class
  std::optional<uint64_t> priority;
  std::optional<std::chrono::microseconds> timeout;  // in the server's queue
  Duration deadline{};                               // of a call; zero: none
  double cancel_share = 0;                           // of the calls, which are given up this long after they were sent
  Duration cancel_after{};
};

// The class of a command line's flags, or those of its --mix file.
//
// Errors: INVALID_ARGUMENT, NOT_FOUND
Result<std::vector<ClassDescription>> DescribeClasses(const MeasureOptions& options);

// Reads {"classes": [{"name": .., "weight": .., "model": .., ...}, ...]}; docs/bench.md has all fields. What a class leaves
// out is as in `defaults`; its name then is its model's.
//
// Errors: INVALID_ARGUMENT, naming the class and the field; so are a field that is not known and two classes of one name.
Result<std::vector<ClassDescription>> ReadMix(std::string_view json, const ClassDescription& defaults);

}  // namespace ferry

#endif  // FERRY_LOADGEN_MIX_DESCRIPTION_H_
