#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace ferry {

namespace {

spdlog::logger& Logger() {
  // Leaked on purpose: threads may still log while the process ends.
  static spdlog::logger* const logger = [] {
    auto* created = new spdlog::logger("ferry", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    created->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%L%$ %v");
    created->flush_on(spdlog::level::trace);
    return created;
  }();
  return *logger;
}

spdlog::string_view_t View(std::string_view message) { return {message.data(), message.size()}; }

}  // namespace

void LogDebug(std::string_view message) { Logger().log(spdlog::level::debug, View(message)); }
void LogInfo(std::string_view message) { Logger().log(spdlog::level::info, View(message)); }
void LogWarning(std::string_view message) { Logger().log(spdlog::level::warn, View(message)); }
void LogError(std::string_view message) { Logger().log(spdlog::level::err, View(message)); }

void SetVerboseLog(bool verbose) { Logger().set_level(verbose ? spdlog::level::debug : spdlog::level::info); }

}  // namespace ferry
