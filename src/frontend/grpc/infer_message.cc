#include "frontend/grpc/infer_message.h"

#include "base/strings.h"
#include "frontend/wire/typed_contents.h"

namespace ferry {

Result<std::shared_ptr<InferMessage>> InferMessage::Parse(grpc::ByteBuffer* buffer) {
  auto message = std::make_shared<InferMessage>();
  if (!buffer->Dump(&message->slices_).ok()) return InvalidArgumentError("the message cannot be decompressed");
  buffer->Clear();
  std::vector<Bytes> pieces;
  pieces.reserve(message->slices_.size());
  for (const grpc::Slice& slice : message->slices_) {
    pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
  }
  Result<ParsedInferRequest> parsed = ParseInferRequest(pieces);
  if (!parsed.ok()) return parsed.status();
  message->parsed_ = std::move(parsed).value();
  return message;
}

WireRequest InferMessage::ToWire() {
  WireRequest wire;
  wire.parameters = parsed_.parameters;
  wire.inputs.reserve(parsed_.inputs.size());
  for (size_t i = 0; i < parsed_.inputs.size(); ++i) wire.inputs.push_back(ToWire(parsed_.inputs[i], i));
  wire.outputs = parsed_.outputs;
  return wire;
}

WireInput InferMessage::ToWire(const ParsedInferRequest::Input& input, size_t index) {
  WireInput wire{input.name, input.datatype, input.shape, input.parameters, {}, {}};
  const std::vector<BytePieces>& raw = parsed_.raw_contents;
  if (!raw.empty()) {
    if (HasTypedContents(input)) {
      wire.data_status = InvalidArgumentError(
          StrCat("contents field must not be specified when using raw_input_contents for input ", Quoted(input.name)));
    } else if (index < raw.size()) {
      wire.data = raw[index];
    } else {
      wire.data_status =
          InvalidArgumentError(StrCat("unable to find data for input tensor ", Quoted(input.name), ": ", raw.size(),
                                      " raw contents for ", parsed_.inputs.size(), " inputs"));
    }
  } else if (input.contents) {
    const Result<Bytes> data = TypedContents(input, &converted_);
    wire.data_status = data.status();
    if (data.ok()) wire.data = *data;
  } else {
    wire.data_status =
        InvalidArgumentError(StrCat("unable to find data for input tensor ", Quoted(input.name), " in the request"));
  }
  return wire;
}

}  // namespace ferry
