#ifndef FERRY_SERVER_CPU_COUNT_H_
#define FERRY_SERVER_CPU_COUNT_H_

#include <optional>
#include <string_view>

namespace ferry {

// Cores that this process may keep busy: its CPU mask, cut to the quota of its control group, at least 1. In a
// container limited to 2 CPUs on a large host this is 2.
int AvailableCores();

// Whole cores of a quota as cgroup v2 writes it in cpu.max, "200000 100000", rounded up; nothing when there is no
// limit.
std::optional<int> CoresOfQuota(std::string_view cpu_max);

}  // namespace ferry

#endif  // FERRY_SERVER_CPU_COUNT_H_
