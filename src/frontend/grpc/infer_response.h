#ifndef FERRY_FRONTEND_GRPC_INFER_RESPONSE_H_
#define FERRY_FRONTEND_GRPC_INFER_RESPONSE_H_

#include <grpcpp/support/byte_buffer.h>

#include <span>
#include <string>
#include <vector>

#include "ferry/tensor.h"

namespace ferry {

// What stands in front of the tensors of an answer.
struct ResponseHeader {
  std::string model;
  int64_t version = 0;
  std::string id;
  std::vector<std::string> output_names;  // one for each tensor
  bool in_stream = false;                 // a ModelStreamInferResponse around it
  bool copy = false;                      // large tensors too, so that their memory is not held until they are sent
};

// A ModelInferResponse as bytes to send, the tensors in raw_output_contents. Large tensors are not copied, unless that is
// asked for: the buffer holds their owners until they are sent. Each answer in a stream says that it is its request's last.
//   INVALID_ARGUMENT  more than 2 GiB, which no client can receive
Result<grpc::ByteBuffer> BuildInferResponse(const ResponseHeader& header, std::span<const Tensor> outputs);

// The answer in a stream to a request that failed.
grpc::ByteBuffer BuildStreamError(const std::string& model, const std::string& id, const std::string& message);

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_INFER_RESPONSE_H_
