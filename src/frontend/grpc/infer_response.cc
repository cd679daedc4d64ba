#include "frontend/grpc/infer_response.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/slice.h>

#include <limits>
#include <memory>

#include "base/strings.h"
#include "grpc_service.pb.h"

namespace ferry {

namespace {

// Below this a copy is cheaper than a slice of its own.
constexpr size_t kSmallTensor = 4096;
// Tags of length-delimited fields (https://protobuf.dev/programming-guides/encoding/).
constexpr char TagOf(int field) { return static_cast<char>((field << 3) | 2); }
constexpr char kRawContentsTag = TagOf(inference::ModelInferResponse::kRawOutputContentsFieldNumber);
constexpr char kInferResponseTag = TagOf(inference::ModelStreamInferResponse::kInferResponseFieldNumber);

// Of a field with a tag of one byte.
size_t FieldSize(size_t length) { return 1 + google::protobuf::io::CodedOutputStream::VarintSize64(length) + length; }

// Puts a message together from short stretches, which are copied, and slices, which are not.
class SliceWriter {
 public:
  void BeginField(char tag, size_t length) {
    pending_.push_back(tag);
    for (; length >= 0x80; length >>= 7) pending_.push_back(static_cast<char>(length | 0x80));
    pending_.push_back(static_cast<char>(length));
  }
  void Append(const void* data, size_t size) { pending_.append(static_cast<const char*>(data), size); }
  void AppendSlice(grpc::Slice slice) {
    Flush();
    slices_.push_back(std::move(slice));
  }
  grpc::ByteBuffer Finish() {
    if (!pending_.empty()) Flush();
    return {slices_.data(), slices_.size()};
  }

 private:
  void Flush() {
    slices_.emplace_back(pending_);
    pending_.clear();
  }

  std::string pending_;
  std::vector<grpc::Slice> slices_;
};

std::string SerializeHeader(const ResponseHeader& header, std::span<const Tensor> outputs) {
  inference::ModelInferResponse proto;
  proto.set_model_name(header.model);
  proto.set_model_version(std::to_string(header.version));
  proto.set_id(header.id);
  // There is one answer for each request.
  if (header.in_stream) (*proto.mutable_parameters())["triton_final_response"].set_bool_param(true);
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto& output = *proto.add_outputs();
    output.set_name(header.output_names[i]);
    output.set_datatype(std::string(DataTypeName(outputs[i].type)));
    output.mutable_shape()->Assign(outputs[i].shape.begin(), outputs[i].shape.end());
  }
  return proto.SerializeAsString();
}

grpc::Slice SharedSlice(const Tensor& tensor) {
  using Owner = std::shared_ptr<const void>;
  return {const_cast<std::byte*>(tensor.bytes.data()), tensor.bytes.size(),
          [](void* owner) { delete static_cast<Owner*>(owner); }, new Owner(tensor.owner)};
}

}  // namespace

Result<grpc::ByteBuffer> BuildInferResponse(const ResponseHeader& header, std::span<const Tensor> outputs) {
  const std::string serialized = SerializeHeader(header, outputs);
  size_t total = serialized.size();
  for (const Tensor& output : outputs) total += FieldSize(output.bytes.size());
  if (total > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidArgumentError(
        StrCat("Response has byte size ", total, " which exceeds the limit of ", std::numeric_limits<int32_t>::max()));
  }
  SliceWriter writer;
  if (header.in_stream) writer.BeginField(kInferResponseTag, total);
  writer.Append(serialized.data(), serialized.size());
  for (const Tensor& output : outputs) {
    writer.BeginField(kRawContentsTag, output.bytes.size());
    if (output.bytes.size() < kSmallTensor) {
      writer.Append(output.bytes.data(), output.bytes.size());
    } else {
      writer.AppendSlice(header.copy ? grpc::Slice(output.bytes.data(), output.bytes.size()) : SharedSlice(output));
    }
  }
  return writer.Finish();
}

grpc::ByteBuffer BuildStreamError(const std::string& model, const std::string& id, const std::string& message) {
  inference::ModelStreamInferResponse proto;
  proto.set_error_message(message);
  proto.mutable_infer_response()->set_model_name(model);
  proto.mutable_infer_response()->set_id(id);
  const grpc::Slice slice(proto.SerializeAsString());
  return {&slice, 1};
}

}  // namespace ferry
