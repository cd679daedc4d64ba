#include "ferry/request.h"

#include "support/requests.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

TEST(InferRequestTest, CompletesOnce) {
  TestRequest made = MakeRows(1, 2);
  made.request->Complete(InferResponse());
  EXPECT_THAT(made.answer.get(), IsOk());
}

TEST(InferRequestTest, AForgottenRequestIsAnsweredByItsDestructor) {
  TestRequest made = MakeRows(1, 2);
  made.request.reset();
  EXPECT_THAT(made.answer.get(), HasStatus(StatusCode::kInternal, ::testing::HasSubstr("dropped")));
}

TEST(InferRequestDeathTest, CompletingTwiceEndsTheProcess) {
  TestRequest made = MakeRows(1, 2);
  made.request->Complete(InferResponse());
  EXPECT_DEATH(made.request->Complete(InferResponse()), "exactly once");
}

}  // namespace
}  // namespace ferry
