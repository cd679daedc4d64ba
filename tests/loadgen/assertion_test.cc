#include "loadgen/assertion.h"

#include "support/status_matchers.h"

namespace ferry {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

LoadPoint Point() {
  LoadPoint point;
  point.requests_per_second = 50;
  point.rows = 4;
  for (int i = 1; i <= 100; ++i) point.response.Record(milliseconds(i));
  point.ok = 100;
  point.failed = 25;
  point.offered = 125;
  return point;
}

bool Holds(const std::string& text) { return Assertion::Parse(text).value().Holds(Point()); }

TEST(AssertionTest, ComparesTimesRatesAndCounts) {
  EXPECT_TRUE(Holds("p99<100ms"));
  EXPECT_FALSE(Holds("p99<99ms"));
  EXPECT_TRUE(Holds("p50<=51"));  // milliseconds
  EXPECT_FALSE(Holds("max<0.1s"));
  EXPECT_TRUE(Holds("max<=0.1s"));
  EXPECT_TRUE(Holds("rps==50"));
  EXPECT_TRUE(Holds("ips>=200"));
  EXPECT_FALSE(Holds("errors==0"));
  EXPECT_TRUE(Holds("error_rate<=0.2"));
  EXPECT_TRUE(Holds("dropped==0"));
  EXPECT_TRUE(Holds("wrong==0"));
}

TEST(AssertionTest, WithoutAnAnswerNoLatencyIsGood) {
  const LoadPoint nothing;
  EXPECT_FALSE(Assertion::Parse("p99<15ms").value().Holds(nothing));
  EXPECT_THAT(Assertion::Parse("p99<15ms").value().Explain(nothing), HasSubstr("there is no answer"));
}

TEST(AssertionTest, SaysWhatItFoundInstead) {
  EXPECT_EQ(Assertion::Parse("errors==0").value().Explain(Point()), "errors==0 does not hold: errors is 25");
}

TEST(AssertionTest, WhatIsNoneIsRefused) {
  const auto refused = [](const char* text, const char* why) {
    EXPECT_THAT(Assertion::Parse(text), HasStatus(StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused("p99", "a bound");
  refused("p99<", "a bound");
  refused("p101<5ms", "'p101' is none of");
  refused("latency<5ms", "'latency' is none of");
  refused("p99<5 parsecs", "is no time");
  refused("errors==none", "'none' is no number");
  refused("errors=0", "'=' is none of");
}

}  // namespace
}  // namespace ferry
