#include "execution/response_order.h"

namespace ferry {

void ResponseOrder::Enter(InferRequest& request) {
  MutexLock lock(mutex_);
  const uint64_t number = first_ + places_.size();
  Place& place = places_.emplace_back();
  request.WrapCompletion([&](Completion completion) -> Completion {
    place.completion = std::move(completion);
    return [this, number](Result<InferResponse> result) { Settle(number, std::move(result)); };
  });
}

void ResponseOrder::Settle(uint64_t number, Result<InferResponse> result) {
  // What has been answered is released last: it may hold the model version that this belongs to.
  std::vector<Place> answered;
  MutexLock lock(mutex_);
  places_[number - first_].result = std::move(result);
  if (releasing_) return;  // that thread sees it
  releasing_ = true;
  while (!places_.empty() && places_.front().result) {
    Place& place = answered.emplace_back(std::move(places_.front()));
    places_.pop_front();
    ++first_;
    mutex_.Unlock();
    place.completion(*std::move(place.result));
    mutex_.Lock();
  }
  releasing_ = false;
}

}  // namespace ferry
