#include "loadgen/host_description.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>

#include "base/strings.h"

namespace ferry {

namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "";
}

}  // namespace

int UsableProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

HostDescription DescribeHost() {
  utsname system{};
  uname(&system);
  return {system.nodename, ProcessorName(), UsableProcessors(), StrCat(system.sysname, " ", system.release)};
}

}  // namespace ferry
