#ifndef FERRY_FRONTEND_GRPC_INFER_MESSAGE_H_
#define FERRY_FRONTEND_GRPC_INFER_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "frontend/wire/infer_parser.h"
#include "frontend/wire_request.h"

namespace ferry {

// A ModelInferRequest together with the slices that it came in, where the bytes of its tensors stay.
class InferMessage {
 public:
  // Parses the bytes of one gRPC message and empties `buffer`.
  //   INVALID_ARGUMENT  they are not a ModelInferRequest, or one with thousands of tensors
  static Result<std::shared_ptr<InferMessage>> Parse(grpc::ByteBuffer* buffer);

  std::string_view model_name() const { return parsed_.model_name; }
  std::string_view model_version() const { return parsed_.model_version; }
  std::string_view id() const { return parsed_.id; }

  // The call's tensors and parameters; valid while this object lives. Raw contents belong to the inputs in order, and
  // surplus ones are ignored, as in Triton.
  WireRequest ToWire();

 private:
  WireInput ToWire(const ParsedInferRequest::Input& input, size_t index);

  std::vector<grpc::Slice> slices_;
  ParsedInferRequest parsed_;
  // Typed contents that are wider on the wire than in the tensor, converted.
  std::deque<std::string> converted_;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_INFER_MESSAGE_H_
