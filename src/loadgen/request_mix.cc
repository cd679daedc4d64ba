#include "loadgen/request_mix.h"

#include <algorithm>

#include "ferry/check.h"

namespace ferry {

std::vector<std::string> ClassNames(const RequestMix& mix) {
  std::vector<std::string> names;
  for (const LoadClass& each : mix.classes) names.push_back(each.name);
  return names;
}

RequestDraw::RequestDraw(const RequestMix& mix, uint64_t seed) : random_(seed) {
  double total = 0;
  for (const LoadClass& each : mix.classes) cumulative_.push_back(total += each.weight);
  requests_.resize(mix.classes.size());
  for (size_t i = 0; i < mix.requests.size(); ++i) {
    Requests& of_class = requests_[mix.requests[i].class_index];
    if (of_class.count++ == 0) of_class.first = i;
  }
  FERRY_CHECK(std::ranges::none_of(requests_, [](const Requests& each) { return each.count == 0; }),
              "each class has a request");
}

// Not std::uniform_real_distribution, which differs between standard libraries.
double RequestDraw::Unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

size_t RequestDraw::Next(std::optional<size_t> class_index) {
  if (!class_index) {
    class_index = 0;
    if (cumulative_.size() > 1) {
      const auto found = std::ranges::upper_bound(cumulative_, Unit() * cumulative_.back());
      class_index = std::min(static_cast<size_t>(found - cumulative_.begin()), cumulative_.size() - 1);
    }
  }
  const Requests& of_class = requests_[*class_index];
  return of_class.first + (of_class.count == 1 ? 0 : random_() % of_class.count);
}

bool RequestDraw::Cancels(const LoadClass& of) { return of.cancel_share > 0 && Unit() < of.cancel_share; }

}  // namespace ferry
