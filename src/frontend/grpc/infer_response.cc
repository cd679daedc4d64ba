#include "frontend/grpc/infer_response.h"

#include <grpcpp/support/slice.h>

#include <limits>
#include <memory>

#include "base/strings.h"
#include "grpc_service.pb.h"

namespace ferry {

namespace {

// Below this a copy is cheaper than a slice of its own.
constexpr size_t kSmallTensor = 4096;
// Field 6, raw_output_contents, length-delimited (https://protobuf.dev/programming-guides/encoding/).
constexpr char kRawContentsTag = (inference::ModelInferResponse::kRawOutputContentsFieldNumber << 3) | 2;

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

std::string SerializeHeader(const ResponseHeader& header, std::span<const Tensor> outputs) {
  inference::ModelInferResponse proto;
  proto.set_model_name(header.model);
  proto.set_model_version(std::to_string(header.version));
  proto.set_id(header.id);
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
  std::vector<grpc::Slice> slices;
  std::string pending = SerializeHeader(header, outputs);
  size_t total = pending.size();
  const auto flush = [&] {
    slices.emplace_back(pending);
    pending.clear();
  };
  for (const Tensor& output : outputs) {
    pending.push_back(kRawContentsTag);
    AppendVarint(output.bytes.size(), &pending);
    if (output.bytes.size() < kSmallTensor) {
      pending.append(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size());
    } else {
      flush();
      slices.push_back(SharedSlice(output));
    }
    total += output.bytes.size();
  }
  if (!pending.empty()) flush();
  if (total > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidArgumentError(
        StrCat("Response has byte size ", total, " which exceeds the limit of ", std::numeric_limits<int32_t>::max()));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace ferry
