#ifndef FERRY_LOADGEN_HTML_TEXT_H_
#define FERRY_LOADGEN_HTML_TEXT_H_

#include <string>
#include <string_view>

namespace ferry {

// Text that may stand anywhere in HTML and in its attributes. Bytes that are no UTF-8, and control characters but for line
// feeds and tabs, become U+FFFD.
std::string EscapeHtml(std::string_view text);

}  // namespace ferry

#endif  // FERRY_LOADGEN_HTML_TEXT_H_
