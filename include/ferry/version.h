#ifndef FERRY_VERSION_H_
#define FERRY_VERSION_H_

#include <string_view>

namespace ferry {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace ferry

#endif  // FERRY_VERSION_H_
