#ifndef FERRY_LOADGEN_HOST_DESCRIPTION_H_
#define FERRY_LOADGEN_HOST_DESCRIPTION_H_

#include "loadgen/bench_result.h"

namespace ferry {

// Processors that this process may use.
int UsableProcessors();

// The host that this runs on.
HostDescription DescribeHost();

}  // namespace ferry

#endif  // FERRY_LOADGEN_HOST_DESCRIPTION_H_
