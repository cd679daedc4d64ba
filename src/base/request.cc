#include "ferry/request.h"

namespace ferry {

InferRequest::~InferRequest() {
  if (completion_) Complete(InternalError("the request was dropped without an answer"));
}

void InferRequest::Complete(Result<InferResponse> result) {
  FERRY_CHECK(completion_ != nullptr, "a request is completed exactly once");
  // Moved out first, so that the destructor sees it done even if the completion destroys the request.
  const Completion completion = std::exchange(completion_, nullptr);
  completion(std::move(result));
}

}  // namespace ferry
