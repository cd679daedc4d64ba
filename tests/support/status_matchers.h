#ifndef FERRY_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define FERRY_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "ferry/status.h"

namespace ferry {

inline void PrintTo(const Status& status, std::ostream* out) { *out << status.ToString(); }

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}

// A Status or Result with this code and a message that matches.
MATCHER_P2(HasStatus, code, message, "") {
  const Status& status = StatusOf(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code && ::testing::Matches(message)(status.message());
}

MATCHER(IsOk, "is OK") {
  *result_listener << "which is " << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_STATUS_MATCHERS_H_
