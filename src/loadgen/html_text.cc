#include "loadgen/html_text.h"

#include <algorithm>
#include <cstdint>

namespace ferry {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Bytes of the character at the beginning; 0: it is none (RFC 3629).
size_t CharacterLength(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  // Longer than needed, halves of a pair, or beyond the last character.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  const auto continues = [](char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; };
  return std::ranges::all_of(text.substr(1, length - 1), continues) ? length : 0;
}

std::string_view Escaped(std::string_view character) {
  switch (character[0]) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return character;
  }
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    escaped += length == 0 ? kReplacement : Escaped(text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return escaped;
}

}  // namespace ferry
