#include "loadgen/html_text.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TEST(EscapeHtmlTest, WhatIsMarkupBecomesText) {
  EXPECT_EQ(EscapeHtml("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
}

TEST(EscapeHtmlTest, CharactersOfEveryLengthAreKept) {
  const std::string text = "a\n\t\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa2";
  EXPECT_EQ(EscapeHtml(text), text);
}

TEST(EscapeHtmlTest, WhatIsNoCharacterIsReplaced) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(EscapeHtml(std::string("a\0b", 3)), "a" + replaced + "b");
  EXPECT_EQ(EscapeHtml("\xff"), replaced);
  EXPECT_EQ(EscapeHtml("\xe2\x82"), replaced + replaced);                 // cut off
  EXPECT_EQ(EscapeHtml("\xc0\xaf"), replaced + replaced);                 // longer than needed
  EXPECT_EQ(EscapeHtml("\xed\xa0\x80"), replaced + replaced + replaced);  // half of a pair
  EXPECT_EQ(EscapeHtml("\xc3<"), replaced + "&lt;");
}

}  // namespace
}  // namespace ferry
