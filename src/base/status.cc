#include "ferry/status.h"

#include "base/strings.h"

namespace ferry {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kUnknown:
      return "UNKNOWN";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
  }
  return "UNKNOWN";
}

std::string Status::ToString() const { return ok() ? "OK" : StrCat(StatusCodeName(code_), ": ", message_); }

Status Status::WithPrefix(std::string_view prefix) const {
  return ok() ? *this : Status(code_, StrCat(prefix, message_));
}

Status CancelledError(std::string message) { return {StatusCode::kCancelled, std::move(message)}; }
Status InvalidArgumentError(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
Status NotFoundError(std::string message) { return {StatusCode::kNotFound, std::move(message)}; }
Status ResourceExhaustedError(std::string message) { return {StatusCode::kResourceExhausted, std::move(message)}; }
Status UnimplementedError(std::string message) { return {StatusCode::kUnimplemented, std::move(message)}; }
Status InternalError(std::string message) { return {StatusCode::kInternal, std::move(message)}; }
Status UnavailableError(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }

}  // namespace ferry
