#ifndef FERRY_LOADGEN_ASSERTION_H_
#define FERRY_LOADGEN_ASSERTION_H_

#include <string>

#include "ferry/status.h"
#include "loadgen/bench_result.h"

namespace ferry {

// What must hold of each point of a result, such as "p99<15ms", "errors==0" or "rps>=500". The figures are p and a percentile
// (p50, p99.9), mean and max, which are times; rps, requests answered with OK per second; ips, the same in rows; errors and
// wrong, dropped, counts; error_rate, the share of failed requests, 0 to 1. The comparisons are <, <=, >, >= and ==.
class Assertion {
 public:
  //   INVALID_ARGUMENT  what is wrong with it, and what is allowed
  static Result<Assertion> Parse(const std::string& text);

  bool Holds(const LoadPoint& point) const;
  // "p99<15ms does not hold: p99 is 17.2 ms".
  std::string Explain(const LoadPoint& point) const;

 private:
  std::string text_;
  std::string figure_;
  std::string comparison_;
  double bound_ = 0;  // of a time in seconds
};

}  // namespace ferry

#endif  // FERRY_LOADGEN_ASSERTION_H_
