#ifndef FERRY_FRONTEND_GRPC_INFER_MESSAGE_H_
#define FERRY_FRONTEND_GRPC_INFER_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <memory>
#include <string>

#include "frontend/wire_request.h"
#include "grpc_service.pb.h"

namespace ferry {

// A ModelInferRequest together with what its WireRequest borrows.
class InferMessage {
 public:
  // Parses the bytes of one gRPC message and empties `buffer`.
  //   INVALID_ARGUMENT  they are not a ModelInferRequest, or one with thousands of tensors
  static Result<std::shared_ptr<InferMessage>> Parse(grpc::ByteBuffer* buffer);

  const inference::ModelInferRequest& proto() const { return proto_; }

  // The call's tensors and parameters; valid while this object lives. Raw contents belong to the inputs in order, and
  // surplus ones are ignored, as in Triton.
  WireRequest ToWire();

 private:
  WireInput ToWire(const inference::ModelInferRequest::InferInputTensor& input, int index);
  Status ReadTypedContents(const inference::ModelInferRequest::InferInputTensor& input, Bytes* data);

  inference::ModelInferRequest proto_;
  // Typed contents that are wider on the wire than in the tensor, converted.
  std::deque<std::string> converted_;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_INFER_MESSAGE_H_
