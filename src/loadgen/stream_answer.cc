#include "loadgen/stream_answer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

namespace ferry {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Of grpc_service.proto: ModelStreamInferResponse and ModelInferResponse.
constexpr int kErrorMessage = 1;
constexpr int kInferResponse = 2;
constexpr int kId = 3;

bool IsBytes(uint32_t tag, int field) {
  return tag == WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

bool ReadText(CodedInputStream& in, std::string& text) {
  uint32_t size = 0;
  return in.ReadVarint32(&size) && in.ReadString(&text, static_cast<int>(size));
}

bool ReadResponse(CodedInputStream& in, std::string& id) {
  uint32_t size = 0;
  if (!in.ReadVarint32(&size)) return false;
  const CodedInputStream::Limit limit = in.PushLimit(static_cast<int>(size));
  while (const uint32_t tag = in.ReadTag()) {
    const bool read = IsBytes(tag, kId) ? ReadText(in, id) : WireFormatLite::SkipField(&in, tag);
    if (!read) return false;
  }
  // At the end of all bytes it also counts as consumed.
  const bool whole = in.ConsumedEntireMessage() && in.BytesUntilLimit() == 0;
  in.PopLimit(limit);
  return whole;
}

}  // namespace

std::optional<StreamAnswer> ReadStreamAnswer(const grpc::ByteBuffer& message) {
  // The reader does not change the buffer, and has no const form.
  grpc::ProtoBufferReader bytes(const_cast<grpc::ByteBuffer*>(&message));
  if (!bytes.status().ok()) return std::nullopt;
  CodedInputStream in(&bytes);
  StreamAnswer answer;
  while (const uint32_t tag = in.ReadTag()) {
    const bool read = IsBytes(tag, kErrorMessage)    ? ReadText(in, answer.error)
                      : IsBytes(tag, kInferResponse) ? ReadResponse(in, answer.id)
                                                     : WireFormatLite::SkipField(&in, tag);
    if (!read) return std::nullopt;
  }
  if (!in.ConsumedEntireMessage()) return std::nullopt;
  return answer;
}

}  // namespace ferry
