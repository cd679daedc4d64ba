#include "frontend/wire/typed_contents.h"

#include <limits>

#include "base/strings.h"

namespace ferry {

namespace {

using Contents = inference::InferTensorContents;

template <typename Field>
Bytes AsBytes(const Field& field) {
  return std::as_bytes(std::span(field.data(), static_cast<size_t>(field.size())));
}

// Copies values into a narrower type.
template <typename Narrow, typename Field>
Status Convert(const ParsedInferRequest::Input& input, const Field& field, std::string* out) {
  using Wide = typename Field::value_type;
  out->reserve(static_cast<size_t>(field.size()) * sizeof(Narrow));
  for (const Wide value : field) {
    if (value < Wide{std::numeric_limits<Narrow>::min()} || value > Wide{std::numeric_limits<Narrow>::max()}) {
      return InvalidArgumentError(
          StrCat("value ", value, " of input ", Quoted(input.name), " is out of range for ", input.datatype));
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

Status CheckTypedField(const ParsedInferRequest::Input& input, DataType type) {
  const std::vector<std::string_view> filled = FilledFields(*input.contents);
  if (filled.empty()) return Status();
  if (filled.size() > 1) {
    return InvalidArgumentError(StrCat("binary data was already supplied for input ", Quoted(input.name), ": ",
                                       filled[0], " and ", filled[1], " are both given"));
  }
  if (filled.front() == FieldFor(type)) return Status();
  return InvalidArgumentError(StrCat("unexpected explicit tensor data for input ", Quoted(input.name), " of type ",
                                     filled.front(), ", expected ", FieldFor(type), " for datatype ",
                                     Quoted(input.datatype)));
}

}  // namespace

bool HasTypedContents(const ParsedInferRequest::Input& input) {
  return input.contents && !FilledFields(*input.contents).empty();
}

Result<Bytes> TypedContents(const ParsedInferRequest::Input& input, std::deque<std::string>* converted) {
  const Contents& contents = *input.contents;
  const DataType type = DataTypeFromName(input.datatype);
  FERRY_RETURN_IF_ERROR(CheckTypedField(input, type));
  const auto kept = [&](const Status& status) -> Result<Bytes> {
    if (!status.ok()) return status;
    return std::as_bytes(std::span(converted->back()));
  };
  switch (type) {
    case DataType::kBool:
      return AsBytes(contents.bool_contents());
    case DataType::kInt32:
      return AsBytes(contents.int_contents());
    case DataType::kInt64:
      return AsBytes(contents.int64_contents());
    case DataType::kUint32:
      return AsBytes(contents.uint_contents());
    case DataType::kUint64:
      return AsBytes(contents.uint64_contents());
    case DataType::kFp32:
      return AsBytes(contents.fp32_contents());
    case DataType::kFp64:
      return AsBytes(contents.fp64_contents());
    case DataType::kInt8:
      return kept(Convert<int8_t>(input, contents.int_contents(), &converted->emplace_back()));
    case DataType::kInt16:
      return kept(Convert<int16_t>(input, contents.int_contents(), &converted->emplace_back()));
    case DataType::kUint8:
      return kept(Convert<uint8_t>(input, contents.uint_contents(), &converted->emplace_back()));
    case DataType::kUint16:
      return kept(Convert<uint16_t>(input, contents.uint_contents(), &converted->emplace_back()));
    case DataType::kBytes:
      converted->push_back(FrameStrings(contents));
      return kept(Status());
    default:  // an unknown type, or one without a typed field: nothing was given, and later checks say so
      return Bytes();
  }
}

}  // namespace ferry
