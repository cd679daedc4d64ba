#ifndef FERRY_BASE_LOG_H_
#define FERRY_BASE_LOG_H_

#include <string_view>

namespace ferry {

// One line each on stderr, with time and level. Thread-safe. A failure is logged or returned, never both.
void LogDebug(std::string_view message);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);
void LogError(std::string_view message);

// Shows LogDebug() lines too. Call before threads start.
void SetVerboseLog(bool verbose);

}  // namespace ferry

#endif  // FERRY_BASE_LOG_H_
