#include "loadgen/option_text.h"

#include <gmock/gmock.h>

namespace ferry {
namespace {

using ::testing::ElementsAre;

TEST(OptionTextTest, SplitsIntoOnePartMoreThanThereAreSeparators) {
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(OptionTextTest, ParsesFiniteNumbersAlone) {
  EXPECT_EQ(ParseReal("0.25"), 0.25);
  EXPECT_EQ(ParseReal("-1e3"), -1000);
  for (const char* const text : {"", "x", "1x", " 1", "inf", "nan", "1e999"}) EXPECT_EQ(ParseReal(text), std::nullopt);
}

TEST(OptionTextTest, ParsesDurationsWithTheirUnit) {
  EXPECT_EQ(ParseDuration("7ns"), std::chrono::nanoseconds(7));
  EXPECT_EQ(ParseDuration("250us"), std::chrono::microseconds(250));
  EXPECT_EQ(ParseDuration("200ms"), std::chrono::milliseconds(200));
  EXPECT_EQ(ParseDuration("1.5s"), std::chrono::milliseconds(1500));
  EXPECT_EQ(ParseDuration("2m"), std::chrono::minutes(2));
  EXPECT_EQ(ParseDuration("1h"), std::chrono::hours(1));
  for (const char* const text : {"", "s", "5", "-1s", "1 s", "1d", "1e30h"})
    EXPECT_EQ(ParseDuration(text), std::nullopt);
}

TEST(OptionTextTest, ATimeWithoutUnitCountsTheOneThatIsGivenForIt) {
  EXPECT_EQ(ParseDuration("5000", std::chrono::milliseconds(1)), std::chrono::seconds(5));
  EXPECT_EQ(ParseDuration("1.5s", std::chrono::milliseconds(1)), std::chrono::milliseconds(1500));
  EXPECT_EQ(ParseDuration("5000"), std::nullopt);
  for (const char* wrong : {"", "fast", "-1", "-1s", "1e30s", "1e30"}) {
    EXPECT_EQ(ParseDuration(wrong, std::chrono::seconds(1)), std::nullopt) << wrong;
  }
}

TEST(OptionTextTest, ReadsTheShareOfCallsToCancelAndWhen) {
  EXPECT_EQ(ParseCancelOption("0.1,5ms"), std::pair(0.1, Duration(std::chrono::milliseconds(5))));
  EXPECT_EQ(ParseCancelOption("1,250us"), std::pair(1.0, Duration(std::chrono::microseconds(250))));
  for (const char* wrong : {"", "0.1", "0.1,", "1.5,5ms", "-0.1,5ms", "0.1,0ms", "0.1,5ms,1"}) {
    EXPECT_EQ(ParseCancelOption(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace ferry
