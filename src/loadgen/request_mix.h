#ifndef FERRY_LOADGEN_REQUEST_MIX_H_
#define FERRY_LOADGEN_REQUEST_MIX_H_

#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ferry/clock.h"

namespace ferry {

// A request of a run, ready to be sent any number of times.
struct LoadRequest {
  grpc::ByteBuffer message;
  size_t class_index = 0;
};

// What the requests of one class have in common.
struct LoadClass {
  std::string name;
  double weight = 1;        // of the class among all
  int64_t rows = 1;         // of a request
  Duration deadline{};      // of a call; zero: none
  double cancel_share = 0;  // of the calls, which are given up this long after they were sent
  Duration cancel_after{};
};

// The requests of a run. Those of a class differ in their data alone and come after each other; each class has one at least.
struct RequestMix {
  std::vector<LoadClass> classes;
  std::vector<LoadRequest> requests;
};

std::vector<std::string> ClassNames(const RequestMix& mix);

// RequestDraw says which request is next: a class by weight, then one of its requests, all alike and with replacement.
//
// Guarantees: the same seed gives the same draws.
// Threading:  one thread.
class RequestDraw {
 public:
  // REQUIRES: the mix has a request; it is not needed after this.
  RequestDraw(const RequestMix& mix, uint64_t seed);

  // The index of the request; of this class, if it is given.
  size_t Next(std::optional<size_t> class_index);

  // Whether a call is one of those of its class that are given up.
  bool Cancels(const LoadClass& of);

 private:
  struct Requests {
    size_t first = 0;
    size_t count = 0;
  };
  double Unit();

  std::vector<double> cumulative_;  // weights
  std::vector<Requests> requests_;  // of each class
  std::mt19937_64 random_;
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_REQUEST_MIX_H_
