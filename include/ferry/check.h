#ifndef FERRY_CHECK_H_
#define FERRY_CHECK_H_

#include <string_view>

namespace ferry {

// Writes where and why to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace ferry

// For what cannot happen: a broken invariant ends the process, at once and with its place. Never for what a client, a
// file or a framework can cause.
#define FERRY_CHECK(condition, message)                                                \
  do {                                                                                 \
    if (!(condition)) ::ferry::CheckFailed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)

#endif  // FERRY_CHECK_H_
