#ifndef FERRY_BASE_STRINGS_H_
#define FERRY_BASE_STRINGS_H_

#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace ferry {

// The parts, written one after the other as operator<< writes them.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

// The items with `separator` between them.
template <typename Items>
std::string StrJoin(const Items& items, std::string_view separator) {
  std::ostringstream out;
  std::string_view gap;
  for (const auto& item : items) {
    out << gap << item;
    gap = separator;
  }
  return std::move(out).str();
}

// The number that all of `text` spells in decimal digits: no sign but a leading '-', no space, no leading zero.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  const size_t first_digit = text.starts_with('-') ? 1 : 0;
  if (text.size() > first_digit + 1 && text[first_digit] == '0') return std::nullopt;
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// `text` made fit for a log line or a status message: whatever is not printable ASCII is written as \xNN, and what is
// longer than `limit` characters is cut.
std::string Printable(std::string_view text, size_t limit = 128);

// The same in single quotes.
std::string Quoted(std::string_view text, size_t limit = 128);

}  // namespace ferry

#endif  // FERRY_BASE_STRINGS_H_
