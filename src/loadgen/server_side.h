#ifndef FERRY_LOADGEN_SERVER_SIDE_H_
#define FERRY_LOADGEN_SERVER_SIDE_H_

#include "loadgen/bench_result.h"

namespace inference {
class ModelStatistics;
}

namespace ferry {

// What happened between two looks at a model's statistics. The server counts a request when it ends, so that requests under
// way at either moment shift the figures by at most their number. After a restart in between, which counters that have gone
// back show, it is all that happened since.
ServerSide Difference(const inference::ModelStatistics& before, const inference::ModelStatistics& after);

// Of two models together: sums, and means over the requests of both.
ServerSide Together(const ServerSide& one, const ServerSide& other);

}  // namespace ferry

#endif  // FERRY_LOADGEN_SERVER_SIDE_H_
