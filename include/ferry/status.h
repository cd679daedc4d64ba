#ifndef FERRY_STATUS_H_
#define FERRY_STATUS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ferry/check.h"

namespace ferry {

// The numbers equal gRPC's, so that the front end maps them without a table
// (https://grpc.io/docs/guides/status-codes/).
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

// "INVALID_ARGUMENT" and so on.
std::string_view StatusCodeName(StatusCode code);

// Status is what a function that can fail returns: OK, or a code with a message for a person.
//
// A message names the thing, the value and the limit: "model 'mlp': batch 12 exceeds max_batch_size 8". What a client,
// a file or a framework can cause is a Status; what cannot happen is a FERRY_CHECK.
class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "OK", or the code's name and the message.
  std::string ToString() const;

  // The same code with `prefix` in front of the message. OK stays OK.
  Status WithPrefix(std::string_view prefix) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

Status CancelledError(std::string message);
Status InvalidArgumentError(std::string message);
Status NotFoundError(std::string message);
Status ResourceExhaustedError(std::string message);
Status UnimplementedError(std::string message);
Status InternalError(std::string message);
Status UnavailableError(std::string message);

// Result<T> holds a T, or the Status that says why there is none. (std::expected needs C++23.)
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: returning a T or a Status must read naturally
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    FERRY_CHECK(!status_.ok(), "a Result without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // REQUIRES: ok()
  T& value() & {
    FERRY_CHECK(ok(), status_.message());
    return *value_;
  }
  const T& value() const& {
    FERRY_CHECK(ok(), status_.message());
    return *value_;
  }
  T&& value() && {
    FERRY_CHECK(ok(), status_.message());
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace ferry

// Returns the Status of `expression` from the calling function unless it is OK.
#define FERRY_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                           \
    if (::ferry::Status ferry_status_ = (expression); !ferry_status_.ok()) return ferry_status_; \
  } while (false)

#endif  // FERRY_STATUS_H_
