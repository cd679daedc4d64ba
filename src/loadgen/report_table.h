#pragma once
#include "base/strings.h"
#include "loadgen/load_run.h"
namespace ferry {
inline std::string LiveLine(const LoadShape& s, const LoadStatus& st) {
  return StrCat(s.arrivals, " ", s.value, " ", st.ok, " ok ", st.failed, " failed");
}
}  // namespace ferry
