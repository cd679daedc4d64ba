#include "base/strings.h"

#include <gtest/gtest.h>

#include <vector>

namespace ferry {
namespace {

TEST(StringsTest, CatAndJoin) {
  EXPECT_EQ(StrCat("a", 1, std::string("b")), "a1b");
  EXPECT_EQ(StrJoin(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  EXPECT_EQ(StrJoin(std::vector<int>{}, ","), "");
}

TEST(ParseNumberTest, TakesDecimalDigitsOnly) {
  EXPECT_EQ(ParseNumber<int>("17"), 17);
  EXPECT_EQ(ParseNumber<int>("-3"), -3);
  EXPECT_EQ(ParseNumber<int>("0"), 0);
  for (const char* text : {"", " 1", "1 ", "+1", "1abc", "0x1", "1.0", "01", "-01", "-", "99999999999999999999"}) {
    EXPECT_EQ(ParseNumber<int64_t>(text), std::nullopt) << text;
  }
}

TEST(ParseNumberTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(ParseNumber<int8_t>("128"), std::nullopt);
  EXPECT_EQ(ParseNumber<unsigned>("-1"), std::nullopt);
}

TEST(QuotedTest, EscapesWhatIsNotPrintableAndCutsWhatIsLong) {
  EXPECT_EQ(Quoted("mlp"), "'mlp'");
  EXPECT_EQ(Quoted(std::string_view("a\0\n\xff", 4)), "'a\\x00\\x0a\\xff'");
  EXPECT_EQ(Quoted("abcdef", 3), "'abc...'");
}

}  // namespace
}  // namespace ferry
