#include "execution/response_order.h"

#include "support/requests.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ResponseOrderTest : public ::testing::Test {
 protected:
  std::unique_ptr<InferRequest> Enter(int number) {
    auto request = std::make_unique<InferRequest>(
        [this, number](Result<InferResponse> result) { answered_.push_back(result.ok() ? number : -number); });
    order_->Enter(*request);
    return request;
  }

  void RunPosted() {
    for (const auto& task : std::exchange(posted_, {})) task();
  }

  std::vector<std::function<void()>> posted_;
  std::shared_ptr<ResponseOrder> order_ =
      std::make_shared<ResponseOrder>([this](std::function<void()> task) { posted_.push_back(std::move(task)); });
  std::vector<int> answered_;
};

TEST_F(ResponseOrderTest, AnEarlyAnswerWaitsForThoseBeforeIt) {
  auto first = Enter(1);
  auto second = Enter(2);
  auto third = Enter(3);
  second->Complete(InferResponse());
  EXPECT_THAT(answered_, IsEmpty());
  first->Complete(InferResponse());
  RunPosted();
  EXPECT_THAT(answered_, ElementsAre(1, 2));
  third->Complete(InferResponse());
  RunPosted();
  EXPECT_THAT(answered_, ElementsAre(1, 2, 3));
}

TEST_F(ResponseOrderTest, AFailureLeavesAtOnceAndIsNotWaitedFor) {
  auto first = Enter(1);
  auto second = Enter(2);
  auto third = Enter(3);
  second->Complete(UnavailableError("timeout"));
  EXPECT_THAT(answered_, ElementsAre(-2));
  third->Complete(InferResponse());
  EXPECT_THAT(answered_, ElementsAre(-2));
  first->Complete(InferResponse());
  RunPosted();
  EXPECT_THAT(answered_, ElementsAre(-2, 1, 3));
}

TEST_F(ResponseOrderTest, AForgottenRequestDoesNotHoldUpTheOthers) {
  auto first = Enter(1);
  auto second = Enter(2);
  second->Complete(InferResponse());
  first.reset();
  RunPosted();
  EXPECT_THAT(answered_, ElementsAre(-1, 2));
}

}  // namespace
}  // namespace ferry
