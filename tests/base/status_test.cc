#include "ferry/status.h"

#include "support/status_matchers.h"

namespace ferry {
namespace {

TEST(StatusTest, DefaultIsOk) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().ToString(), "OK");
}

TEST(StatusTest, NamesItsCode) { EXPECT_EQ(NotFoundError("no model").ToString(), "NOT_FOUND: no model"); }

TEST(StatusTest, PrefixLeavesCodeAndOkAlone) {
  EXPECT_EQ(InternalError("b").WithPrefix("a: ").ToString(), "INTERNAL: a: b");
  EXPECT_TRUE(Status().WithPrefix("a: ").ok());
}

TEST(StatusTest, CodesHaveTheNumbersOfGrpc) {
  EXPECT_EQ(static_cast<int>(StatusCode::kInvalidArgument), 3);
  EXPECT_EQ(static_cast<int>(StatusCode::kUnimplemented), 12);
  EXPECT_EQ(static_cast<int>(StatusCode::kUnavailable), 14);
}

TEST(ResultTest, HoldsAValueOrAnError) {
  const Result<int> value = 3;
  EXPECT_EQ(*value, 3);
  const Result<int> error = UnavailableError("later");
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.status().message(), "later");
}

TEST(ResultDeathTest, ValueOfAnErrorEndsTheProcess) {
  const Result<int> error = InternalError("broken");
  EXPECT_DEATH((void)error.value(), "check failed.*broken");
}

Status ReturnsEarly(bool* went_on) {
  FERRY_RETURN_IF_ERROR(InternalError("stop"));
  *went_on = true;
  return Status();
}

TEST(StatusTest, ReturnIfErrorReturnsTheError) {
  bool went_on = false;
  EXPECT_THAT(ReturnsEarly(&went_on), HasStatus(StatusCode::kInternal, "stop"));
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace ferry
