#ifndef FERRY_LOADGEN_STREAM_ANSWER_H_
#define FERRY_LOADGEN_STREAM_ANSWER_H_

#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <string>

namespace ferry {

// Of a ModelStreamInferResponse, what tells whose answer it is and whether it is one.
struct StreamAnswer {
  std::string error;  // empty: the request was answered
  std::string id;     // of the request; servers leave it out of some errors
};

// Reads over the contents of the tensors without copying them. Nothing where the bytes are not such a message.
std::optional<StreamAnswer> ReadStreamAnswer(const grpc::ByteBuffer& message);

}  // namespace ferry

#endif  // FERRY_LOADGEN_STREAM_ANSWER_H_
