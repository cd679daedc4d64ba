#include "frontend/grpc/infer_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <limits>

#include "base/strings.h"

namespace ferry {

namespace {

using InputTensor = inference::ModelInferRequest::InferInputTensor;
using Contents = inference::InferTensorContents;

WireValue ToWire(const inference::InferParameter& parameter) {
  switch (parameter.parameter_choice_case()) {
    case inference::InferParameter::kBoolParam:
      return parameter.bool_param();
    case inference::InferParameter::kInt64Param:
      return parameter.int64_param();
    case inference::InferParameter::kStringParam:
      return std::string_view(parameter.string_param());
    case inference::InferParameter::kDoubleParam:
      return parameter.double_param();
    case inference::InferParameter::kUint64Param:
      return parameter.uint64_param();
    case inference::InferParameter::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return std::monostate();
}

template <typename Map>
std::vector<WireParameter> ToWireParameters(const Map& map) {
  std::vector<WireParameter> parameters;
  for (const auto& [name, value] : map) parameters.push_back({name, ToWire(value)});
  // A protobuf map has no order; with one, the same fault is reported each time.
  std::ranges::sort(parameters, {}, &WireParameter::name);
  return parameters;
}

template <typename Field>
Bytes AsBytes(const Field& field) {
  return std::as_bytes(std::span(field.data(), static_cast<size_t>(field.size())));
}

// Copies values into a narrower type.
template <typename Narrow, typename Field>
Status Convert(const InputTensor& input, const Field& field, std::string* out) {
  using Wide = typename Field::value_type;
  out->reserve(static_cast<size_t>(field.size()) * sizeof(Narrow));
  for (const Wide value : field) {
    if (value < Wide{std::numeric_limits<Narrow>::min()} || value > Wide{std::numeric_limits<Narrow>::max()}) {
      return InvalidArgumentError(
          StrCat("value ", value, " of input ", Quoted(input.name()), " is out of range for ", input.datatype()));
    }
    const auto narrow = static_cast<Narrow>(value);
    out->append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
  }
  return Status();
}

std::string FrameStrings(const Contents& contents) {
  std::string bytes;
  for (const std::string& element : contents.bytes_contents()) {
    const auto length = static_cast<uint32_t>(element.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes.append(element);
  }
  return bytes;
}

// Which typed fields hold anything.
std::vector<std::string_view> FilledFields(const Contents& contents) {
  std::vector<std::string_view> filled;
  const auto add = [&](int size, std::string_view name) {
    if (size > 0) filled.push_back(name);
  };
  add(contents.bool_contents_size(), "bool_contents");
  add(contents.int_contents_size(), "int_contents");
  add(contents.int64_contents_size(), "int64_contents");
  add(contents.uint_contents_size(), "uint_contents");
  add(contents.uint64_contents_size(), "uint64_contents");
  add(contents.fp32_contents_size(), "fp32_contents");
  add(contents.fp64_contents_size(), "fp64_contents");
  add(contents.bytes_contents_size(), "bytes_contents");
  return filled;
}

// The typed field that carries a type; none for FP16 and BF16, which only raw contents can carry.
std::string_view FieldFor(DataType type) {
  switch (type) {
    case DataType::kBool:
      return "bool_contents";
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
      return "int_contents";
    case DataType::kInt64:
      return "int64_contents";
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
      return "uint_contents";
    case DataType::kUint64:
      return "uint64_contents";
    case DataType::kFp32:
      return "fp32_contents";
    case DataType::kFp64:
      return "fp64_contents";
    case DataType::kBytes:
      return "bytes_contents";
    default:
      return "raw_input_contents";
  }
}

Status CheckTypedField(const InputTensor& input, DataType type) {
  const std::vector<std::string_view> filled = FilledFields(input.contents());
  if (filled.empty()) return Status();
  if (filled.size() > 1) {
    return InvalidArgumentError(StrCat("binary data was already supplied for input ", Quoted(input.name()), ": ",
                                       filled[0], " and ", filled[1], " are both given"));
  }
  if (filled.front() == FieldFor(type)) return Status();
  return InvalidArgumentError(StrCat("unexpected explicit tensor data for input ", Quoted(input.name()), " of type ",
                                     filled.front(), ", expected ", FieldFor(type), " for datatype ",
                                     Quoted(input.datatype())));
}

// An entry takes two bytes on the wire and a hundred in memory, so the entries are counted before any is parsed.
Status CheckEntries(grpc::ByteBuffer* buffer) {
  constexpr int kMostEntries = 4096;
  grpc::ProtoBufferReader reader(buffer);
  google::protobuf::io::CodedInputStream input(&reader);
  int entries = 0;
  while (const uint32_t tag = input.ReadTag()) {
    using google::protobuf::internal::WireFormatLite;
    entries += WireFormatLite::GetTagFieldNumber(tag) > inference::ModelInferRequest::kIdFieldNumber ? 1 : 0;
    if (entries > kMostEntries) {
      return InvalidArgumentError(
          StrCat("the request has more than ", kMostEntries, " inputs, outputs, raw contents and parameters"));
    }
    if (!WireFormatLite::SkipField(&input, tag)) break;  // the parser will say that it is not valid
  }
  return Status();
}

}  // namespace

Result<std::shared_ptr<InferMessage>> InferMessage::Parse(grpc::ByteBuffer* buffer) {
  FERRY_RETURN_IF_ERROR(CheckEntries(buffer));
  auto message = std::make_shared<InferMessage>();
  const grpc::Status parsed =
      grpc::SerializationTraits<inference::ModelInferRequest>::Deserialize(buffer, &message->proto_);
  if (!parsed.ok()) return InvalidArgumentError("the message is not a valid ModelInferRequest");
  return message;
}

WireRequest InferMessage::ToWire() {
  WireRequest wire;
  wire.parameters = ToWireParameters(proto_.parameters());
  wire.inputs.reserve(static_cast<size_t>(proto_.inputs_size()));
  for (int i = 0; i < proto_.inputs_size(); ++i) wire.inputs.push_back(ToWire(proto_.inputs(i), i));
  wire.outputs.reserve(static_cast<size_t>(proto_.outputs_size()));
  for (const auto& output : proto_.outputs()) {
    wire.outputs.push_back({output.name(), ToWireParameters(output.parameters())});
  }
  return wire;
}

WireInput InferMessage::ToWire(const InputTensor& input, int index) {
  WireInput wire;
  wire.name = input.name();
  wire.datatype = input.datatype();
  wire.shape.assign(input.shape().begin(), input.shape().end());
  wire.parameters = ToWireParameters(input.parameters());
  if (proto_.raw_input_contents_size() > 0) {
    if (input.has_contents() && !FilledFields(input.contents()).empty()) {
      wire.data_status = InvalidArgumentError(StrCat(
          "contents field must not be specified when using raw_input_contents for input ", Quoted(input.name())));
    } else if (index < proto_.raw_input_contents_size()) {
      wire.data = std::as_bytes(std::span(proto_.raw_input_contents(index)));
    } else {
      wire.data_status = InvalidArgumentError(StrCat("unable to find data for input tensor ", Quoted(input.name()),
                                                     ": ", proto_.raw_input_contents_size(), " raw contents for ",
                                                     proto_.inputs_size(), " inputs"));
    }
  } else if (input.has_contents()) {
    Bytes data;
    wire.data_status = ReadTypedContents(input, &data);
    wire.data = data;
  } else {
    wire.data_status =
        InvalidArgumentError(StrCat("unable to find data for input tensor ", Quoted(input.name()), " in the request"));
  }
  return wire;
}

Status InferMessage::ReadTypedContents(const InputTensor& input, Bytes* data) {
  const Contents& contents = input.contents();
  const DataType type = DataTypeFromName(input.datatype());
  FERRY_RETURN_IF_ERROR(CheckTypedField(input, type));
  const auto converted = [&](Status status) {
    *data = std::as_bytes(std::span(converted_.back()));
    return status;
  };
  switch (type) {
    case DataType::kBool:
      *data = AsBytes(contents.bool_contents());
      return Status();
    case DataType::kInt32:
      *data = AsBytes(contents.int_contents());
      return Status();
    case DataType::kInt64:
      *data = AsBytes(contents.int64_contents());
      return Status();
    case DataType::kUint32:
      *data = AsBytes(contents.uint_contents());
      return Status();
    case DataType::kUint64:
      *data = AsBytes(contents.uint64_contents());
      return Status();
    case DataType::kFp32:
      *data = AsBytes(contents.fp32_contents());
      return Status();
    case DataType::kFp64:
      *data = AsBytes(contents.fp64_contents());
      return Status();
    case DataType::kInt8:
      return converted(Convert<int8_t>(input, contents.int_contents(), &converted_.emplace_back()));
    case DataType::kInt16:
      return converted(Convert<int16_t>(input, contents.int_contents(), &converted_.emplace_back()));
    case DataType::kUint8:
      return converted(Convert<uint8_t>(input, contents.uint_contents(), &converted_.emplace_back()));
    case DataType::kUint16:
      return converted(Convert<uint16_t>(input, contents.uint_contents(), &converted_.emplace_back()));
    case DataType::kBytes:
      converted_.push_back(FrameStrings(contents));
      return converted(Status());
    default:  // an unknown type, or one without a typed field: nothing was given, and later checks say so
      return Status();
  }
}

}  // namespace ferry
