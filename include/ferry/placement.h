#ifndef FERRY_PLACEMENT_H_
#define FERRY_PLACEMENT_H_

namespace ferry {

// Where an instance of a model runs: on the host's processors, or on the GPU of this number among those that the process
// sees.
using Placement = int;
inline constexpr Placement kOnHost = -1;

}  // namespace ferry

#endif  // FERRY_PLACEMENT_H_
