#include "execution/response_order.h"

namespace ferry {

void ResponseOrder::Enter(InferRequest& request) {
  MutexLock lock(mutex_);
  const uint64_t number = first_ + places_.size();
  Place& place = places_.emplace_back();
  request.WrapCompletion([&](Completion completion) -> Completion {
    place.completion = std::move(completion);
    return
        [self = shared_from_this(), number](Result<InferResponse> result) { self->Settle(number, std::move(result)); };
  });
}

void ResponseOrder::Settle(uint64_t number, Result<InferResponse> result) {
  Completion failed;
  {
    MutexLock lock(mutex_);
    Place& place = places_[number - first_];
    place.settled = true;
    if (result.ok()) {
      place.response = std::move(result).value();
    } else {
      failed = std::exchange(place.completion, nullptr);
    }
    // Failures that have left need nobody to send them.
    while (!releasing_ && !places_.empty() && places_.front().settled && !places_.front().completion) {
      places_.pop_front();
      ++first_;
    }
    if (!releasing_ && !places_.empty() && places_.front().settled) {
      releasing_ = true;
      post_([self = shared_from_this()] { self->Release(); });
    }
  }
  if (failed) failed(result.status());
}

void ResponseOrder::Release() {
  // What has been answered is released last: it may hold the model version that this belongs to.
  std::vector<Place> answered;
  MutexLock lock(mutex_);
  while (!places_.empty() && places_.front().settled) {
    Place first = std::move(places_.front());
    places_.pop_front();
    ++first_;
    if (!first.completion) continue;
    mutex_.Unlock();
    first.completion(std::move(first.response));
    answered.push_back(std::move(first));
    mutex_.Lock();
  }
  releasing_ = false;
}

}  // namespace ferry
