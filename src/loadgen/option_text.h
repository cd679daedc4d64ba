#ifndef FERRY_LOADGEN_OPTION_TEXT_H_
#define FERRY_LOADGEN_OPTION_TEXT_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ferry/clock.h"

namespace ferry {

// What the values of the command line and the fields of a CSV are made of.

// The parts of `text` between separators: one more than there are separators.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The finite number that all of `text` spells in decimal, with an exponent or not.
std::optional<double> ParseReal(std::string_view text);

// A number with one of the units ns, us, ms, s, m and h: "200ms", "1.5s"; or with none, if there is one for that. Not negative,
// at most 292 years.
std::optional<Duration> ParseDuration(std::string_view text, std::optional<Duration> unit_of_bare = std::nullopt);

// "SHARE,AFTER": so many of the calls (0 to 1) are given up after so long (more than nothing), as in "0.1,5ms".
std::optional<std::pair<double, Duration>> ParseCancelOption(std::string_view text);

// `seconds`, which may be negative, to the nanosecond; nothing where a Duration cannot hold it.
std::optional<Duration> DurationOfSeconds(double seconds);

}  // namespace ferry

#endif  // FERRY_LOADGEN_OPTION_TEXT_H_
