#include "server/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "base/strings.h"

namespace ferry {

namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// cgroup v2, then v1, which keeps the two numbers in two files.
std::string ReadQuota() {
  if (std::string quota = ReadFile("/sys/fs/cgroup/cpu.max"); !quota.empty()) return quota;
  return ReadFile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + " " + ReadFile("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
}

int CoresOfMask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  return sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : 1;
}

}  // namespace

std::optional<int> CoresOfQuota(std::string_view cpu_max) {
  std::istringstream in{std::string(cpu_max)};
  int64_t quota = 0;
  int64_t period = 0;
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;  // "max 100000", -1: no limit
  return static_cast<int>((quota + period - 1) / period);
}

int AvailableCores() {
  const int mask = CoresOfMask();
  return std::max(1, std::min(mask, CoresOfQuota(ReadQuota()).value_or(mask)));
}

}  // namespace ferry
