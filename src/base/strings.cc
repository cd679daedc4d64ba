#include "base/strings.h"

namespace ferry {

std::string Printable(std::string_view text, size_t limit) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string printable;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      printable += c;
    } else {
      printable += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (text.size() > limit) printable += "...";
  return printable;
}

std::string Quoted(std::string_view text, size_t limit) { return StrCat("'", Printable(text, limit), "'"); }

}  // namespace ferry
