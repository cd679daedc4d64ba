#include "loadgen/option_text.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "loadgen/duration_units.h"

namespace ferry {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<double> ParseReal(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<Duration> ParseDuration(std::string_view text, std::optional<Duration> unit_of_bare) {
  // Longer units first: "ms" also ends in "s".
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                                                   {"s", 1},     {"m", 60},    {"h", 3600}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::optional<double> number = ParseReal(text.substr(0, text.size() - unit.size()));
    if (!number || *number < 0) return std::nullopt;
    return DurationOfSeconds(*number * seconds);
  }
  const std::optional<double> bare = unit_of_bare ? ParseReal(text) : std::nullopt;
  if (!bare || *bare < 0) return std::nullopt;
  return DurationOfSeconds(*bare * Seconds(*unit_of_bare));
}

std::optional<std::pair<double, Duration>> ParseCancelOption(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ',');
  if (parts.size() != 2) return std::nullopt;
  const std::optional<double> share = ParseReal(parts[0]);
  const std::optional<Duration> after = ParseDuration(parts[1], std::chrono::milliseconds(1));
  if (!share || *share < 0 || *share > 1 || !after || *after <= Duration::zero()) return std::nullopt;
  return std::pair(*share, *after);
}

std::optional<Duration> DurationOfSeconds(double seconds) {
  const double nanoseconds = seconds * 1e9;
  if (!(std::abs(nanoseconds) < 9.2e18)) return std::nullopt;
  return Duration(std::llround(nanoseconds));
}

}  // namespace ferry
