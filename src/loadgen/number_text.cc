#include "loadgen/number_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ferry {

namespace {

// Three digits, or all that stand before the point. 9.996 has four of them when rounded to two places.
std::string ThreeDigits(double number) {
  const double size = std::abs(number);
  if (size < 9.995) return fmt::format("{:.2f}", number);
  if (size < 99.95) return fmt::format("{:.1f}", number);
  return fmt::format("{:.0f}", number);
}

std::string WithoutEndingZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

struct Scaled {
  std::string digits;
  std::string_view unit;
};

Scaled ToUnit(Duration duration) {
  constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  auto value = static_cast<double>(duration.count());
  size_t unit = 0;
  // What rounds to a thousand is one of the next unit.
  while (std::abs(value) >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return {unit == 0 ? fmt::format("{:.0f}", value) : ThreeDigits(value), kUnits[unit]};
}

}  // namespace

std::string NumberText(double number) {
  if (!std::isfinite(number)) return "?";
  constexpr std::array<std::string_view, 5> kUnits = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  if (std::abs(number) >= 99999.5) {
    while (std::abs(number) >= 999.5 && unit + 1 < kUnits.size()) {
      number /= 1000;
      ++unit;
    }
  }
  return fmt::format("{}{}", WithoutEndingZeros(ThreeDigits(number)), kUnits[unit]);
}

std::string DurationText(Duration duration) {
  const Scaled scaled = ToUnit(duration);
  return duration == Duration::zero() ? "0 us" : fmt::format("{} {}", scaled.digits, scaled.unit);
}

std::string ShortDurationText(Duration duration) {
  const Scaled scaled = ToUnit(duration);
  return duration == Duration::zero() ? "0" : fmt::format("{} {}", WithoutEndingZeros(scaled.digits), scaled.unit);
}

std::string ShareText(double part, double whole) {
  const double percent = whole > 0 ? 100 * part / whole : 0;
  if (percent > 0 && percent < 0.01) return "<0.01 %";
  return fmt::format("{} %", NumberText(percent));
}

std::string QuantileName(double q) { return fmt::format("p{:.6g}", q * 100); }

}  // namespace ferry
