#include "loadgen/answer_check.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include "base/strings.h"
#include "grpc_service.pb.h"

namespace ferry {

namespace {

template <typename Message>
bool Parse(grpc::ByteBuffer& bytes, Message& message) {
  grpc::ProtoBufferReader reader(&bytes);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

}  // namespace

Result<std::vector<NamedTensor>> ReadAnswer(grpc::ByteBuffer& answer, bool streamed) {
  inference::ModelStreamInferResponse stream;
  inference::ModelInferResponse& response = *stream.mutable_infer_response();
  if (streamed ? !Parse(answer, stream) : !Parse(answer, response)) {
    return InternalError("the answer is not the message that it should be");
  }
  return OutputsOf(stream.infer_response());
}

AnswerCheck CheckAgainst(std::vector<std::vector<NamedTensor>> expected, const OutputComparison& comparison,
                         bool streamed) {
  return [expected = std::make_shared<const std::vector<std::vector<NamedTensor>>>(std::move(expected)), comparison,
          streamed](size_t request, grpc::ByteBuffer& answer) -> std::string {
    const Result<std::vector<NamedTensor>> outputs = ReadAnswer(answer, streamed);
    if (!outputs.ok()) return outputs.status().message();
    return FindDifference((*expected)[request], *outputs, comparison).value_or("");
  };
}

}  // namespace ferry
