#include "frontend/wire/infer_parser.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>

#include "base/strings.h"
#include "frontend/wire/piece_stream.h"

namespace ferry {

namespace {

using google::protobuf::internal::WireFormatLite;
using Request = inference::ModelInferRequest;
using Input = Request::InferInputTensor;
using Output = Request::InferRequestedOutputTensor;
using Parameter = inference::InferParameter;

// An entry takes two bytes on the wire and a hundred in memory, an extent one and eight: both are bounded.
constexpr int kMostEntries = 4096;
constexpr size_t kMostExtents = 4096;
// Of groups inside of unknown fields; more than the generated class allows, which counts them in another way.
constexpr int kDeepest = 200;

constexpr uint32_t Varint(int field) { return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_VARINT); }
constexpr uint32_t Fixed64(int field) { return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_FIXED64); }
constexpr uint32_t Delimited(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

// Of a map entry, as protobuf generates it.
constexpr int kKeyField = 1;
constexpr int kValueField = 2;

// Where raw contents lie in the message.
struct Range {
  size_t offset;
  size_t size;
};

// The pieces of each range. REQUIRES: the ranges are in order and do not overlap.
void CutRanges(std::span<const Bytes> message, std::span<const Range> ranges, ParsedInferRequest* parsed) {
  // Reserved, since what is handed out points into it.
  parsed->raw_pieces.reserve(message.size() + ranges.size());
  size_t piece = 0;
  size_t piece_begin = 0;
  for (const Range& range : ranges) {
    const size_t first = parsed->raw_pieces.size();
    const size_t end = range.offset + range.size;
    for (size_t at = range.offset; at < end;) {
      while (at >= piece_begin + message[piece].size()) piece_begin += message[piece++].size();
      const size_t taken = std::min(end, piece_begin + message[piece].size()) - at;
      parsed->raw_pieces.push_back(message[piece].subspan(at - piece_begin, taken));
      at += taken;
    }
    parsed->raw_contents.emplace_back(std::span<const Bytes>(parsed->raw_pieces).subspan(first));
  }
}

// A parameter that is given several times counts as it was given last. Sorted, so that of several faults always the same
// one is reported.
void KeepLast(std::vector<WireParameter>* parameters) {
  if (parameters->size() < 2) return;
  std::ranges::stable_sort(*parameters, {}, &WireParameter::name);
  const auto repeated = std::unique(parameters->rbegin(), parameters->rend(),
                                    [](const auto& a, const auto& b) { return a.name == b.name; });
  parameters->erase(parameters->begin(), repeated.base());
}

class Parser {
 public:
  explicit Parser(std::span<const Bytes> message) : message_(message), stream_(message), in_(&stream_) {
    in_.SetRecursionLimit(kDeepest);
  }

  Result<ParsedInferRequest> Parse() {
    size_t size = 0;
    for (const Bytes piece : message_) size += piece.size();
    in_.PushLimit(static_cast<int>(size));
    const bool valid = ReadFields([this](uint32_t tag) { return ReadRequestField(tag); });
    if (!refusal_.ok()) return refusal_;
    if (!valid) return InvalidArgumentError("the message is not a valid ModelInferRequest");
    KeepLast(&parsed_.parameters);
    CutRanges(message_, raw_, &parsed_);
    return std::move(parsed_);
  }

 private:
  // Each reader returns false where the message is not valid, or is refused for the reason in `refusal_`.

  template <typename ReadField>
  bool ReadFields(const ReadField& read_field) {
    while (const uint32_t tag = in_.ReadTag()) {
      if (!read_field(tag)) return false;
    }
    return in_.ConsumedEntireMessage();
  }

  bool ReadLength(int* length) { return in_.ReadVarintSizeAsInt(length) && *length <= in_.BytesUntilLimit(); }

  template <typename ReadField>
  bool ReadMessage(const ReadField& read_field) {
    int length = 0;
    if (!ReadLength(&length)) return false;
    const auto limit = in_.PushLimit(length);
    if (!ReadFields(read_field)) return false;
    in_.PopLimit(limit);
    return true;
  }

  bool SkipField(uint32_t tag) { return WireFormatLite::SkipField(&in_, tag); }

  bool ReadString(std::string_view* text) {
    int length = 0;
    if (!ReadLength(&length)) return false;
    const void* data = nullptr;
    int direct = 0;
    if (length == 0) {
      *text = {};
    } else if (in_.GetDirectBufferPointer(&data, &direct) && direct >= length) {
      *text = {static_cast<const char*>(data), static_cast<size_t>(length)};
      in_.Skip(length);
    } else {
      std::string& copy = parsed_.strings.emplace_back();
      if (!in_.ReadString(&copy, length)) return false;
      *text = copy;
    }
    return WireFormatLite::VerifyUtf8String(text->data(), length, WireFormatLite::PARSE, "inference.ModelInferRequest");
  }

  // The number of entries is checked before one is kept.
  bool CountEntry() {
    if (++entries_ <= kMostEntries) return true;
    refusal_ = InvalidArgumentError(
        StrCat("the request has more than ", kMostEntries, " inputs, outputs, raw contents and parameters"));
    return false;
  }

  bool ReadRequestField(uint32_t tag) {
    switch (tag) {
      case Delimited(Request::kModelNameFieldNumber):
        return ReadString(&parsed_.model_name);
      case Delimited(Request::kModelVersionFieldNumber):
        return ReadString(&parsed_.model_version);
      case Delimited(Request::kIdFieldNumber):
        return ReadString(&parsed_.id);
      case Delimited(Request::kParametersFieldNumber):
        return ReadParameter(&parsed_.parameters);
      case Delimited(Request::kInputsFieldNumber):
        return CountEntry() && ReadInput(&parsed_.inputs.emplace_back());
      case Delimited(Request::kOutputsFieldNumber):
        return CountEntry() && ReadOutput(&parsed_.outputs.emplace_back());
      case Delimited(Request::kRawInputContentsFieldNumber):
        return CountEntry() && NoteRawContents();
      default:
        return SkipField(tag);
    }
  }

  bool NoteRawContents() {
    int length = 0;
    if (!ReadLength(&length)) return false;
    raw_.push_back({static_cast<size_t>(in_.CurrentPosition()), static_cast<size_t>(length)});
    return in_.Skip(length);
  }

  bool ReadInput(ParsedInferRequest::Input* input) {
    const bool valid = ReadMessage([&](uint32_t tag) {
      switch (tag) {
        case Delimited(Input::kNameFieldNumber):
          return ReadString(&input->name);
        case Delimited(Input::kDatatypeFieldNumber):
          return ReadString(&input->datatype);
        case Varint(Input::kShapeFieldNumber):
          return ReadExtent(&input->shape);
        case Delimited(Input::kShapeFieldNumber):
          return ReadExtents(&input->shape);
        case Delimited(Input::kParametersFieldNumber):
          return ReadParameter(&input->parameters);
        case Delimited(Input::kContentsFieldNumber):
          return ReadContents(&input->contents);
        default:
          return SkipField(tag);
      }
    });
    KeepLast(&input->parameters);
    return valid;
  }

  bool ReadExtent(Shape* shape) {
    uint64_t extent = 0;
    if (!in_.ReadVarint64(&extent)) return false;
    if (shape->size() == kMostExtents) {
      refusal_ = InvalidArgumentError(StrCat("a shape in the request has more than ", kMostExtents, " dimensions"));
      return false;
    }
    shape->push_back(static_cast<int64_t>(extent));
    return true;
  }

  bool ReadExtents(Shape* shape) {
    int length = 0;
    if (!ReadLength(&length)) return false;
    const auto limit = in_.PushLimit(length);
    while (in_.BytesUntilLimit() > 0) {
      if (!ReadExtent(shape)) return false;
    }
    in_.PopLimit(limit);
    return true;
  }

  bool ReadContents(std::optional<inference::InferTensorContents>* contents) {
    int length = 0;
    if (!ReadLength(&length)) return false;
    const auto limit = in_.PushLimit(length);
    if (!*contents) contents->emplace();
    if (!(*contents)->MergeFromCodedStream(&in_) || !in_.ConsumedEntireMessage()) return false;
    in_.PopLimit(limit);
    return true;
  }

  bool ReadOutput(WireOutput* output) {
    const bool valid = ReadMessage([&](uint32_t tag) {
      switch (tag) {
        case Delimited(Output::kNameFieldNumber):
          return ReadString(&output->name);
        case Delimited(Output::kParametersFieldNumber):
          return ReadParameter(&output->parameters);
        default:
          return SkipField(tag);
      }
    });
    KeepLast(&output->parameters);
    return valid;
  }

  bool ReadParameter(std::vector<WireParameter>* parameters) {
    if (!CountEntry()) return false;
    WireParameter read;
    const bool valid = ReadMessage([&](uint32_t tag) {
      switch (tag) {
        case Delimited(kKeyField):
          return ReadString(&read.name);
        case Delimited(kValueField):
          return ReadMessage([&](uint32_t value_tag) { return ReadParameterValue(value_tag, &read.value); });
        default:
          return SkipField(tag);
      }
    });
    parameters->push_back(read);
    return valid;
  }

  bool ReadParameterValue(uint32_t tag, WireValue* value) {
    uint64_t bits = 0;
    std::string_view text;
    switch (tag) {
      case Varint(Parameter::kBoolParamFieldNumber):
        return in_.ReadVarint64(&bits) && Set(value, bits != 0);
      case Varint(Parameter::kInt64ParamFieldNumber):
        return in_.ReadVarint64(&bits) && Set(value, static_cast<int64_t>(bits));
      case Delimited(Parameter::kStringParamFieldNumber):
        return ReadString(&text) && Set(value, text);
      case Fixed64(Parameter::kDoubleParamFieldNumber):
        return in_.ReadLittleEndian64(&bits) && Set(value, std::bit_cast<double>(bits));
      case Varint(Parameter::kUint64ParamFieldNumber):
        return in_.ReadVarint64(&bits) && Set(value, bits);
      default:
        return SkipField(tag);
    }
  }

  template <typename Value>
  static bool Set(WireValue* to, Value value) {
    to->emplace<Value>(value);
    return true;
  }

  const std::span<const Bytes> message_;
  PieceStream stream_;
  google::protobuf::io::CodedInputStream in_;
  ParsedInferRequest parsed_;
  std::vector<Range> raw_;
  int entries_ = 0;
  Status refusal_;
};

}  // namespace

Result<ParsedInferRequest> ParseInferRequest(std::span<const Bytes> message) { return Parser(message).Parse(); }

}  // namespace ferry
