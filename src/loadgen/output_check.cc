#include "loadgen/output_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/strings.h"
#include "grpc_service.pb.h"
#include "loadgen/option_text.h"
#include "loadgen/tensor_elements.h"

namespace ferry {

namespace {

template <typename Stored, typename Values>
std::string PackAs(const Values& values) {
  std::string bytes;
  for (const auto value : values) {
    const auto stored = static_cast<Stored>(value);
    bytes.append(reinterpret_cast<const char*>(&stored), sizeof(stored));
  }
  return bytes;
}

std::string RawContents(const inference::InferTensorContents& contents, DataType type) {
  switch (type) {
    case DataType::kBool:
      return PackAs<uint8_t>(contents.bool_contents());
    case DataType::kUint8:
      return PackAs<uint8_t>(contents.uint_contents());
    case DataType::kUint16:
      return PackAs<uint16_t>(contents.uint_contents());
    case DataType::kUint32:
      return PackAs<uint32_t>(contents.uint_contents());
    case DataType::kUint64:
      return PackAs<uint64_t>(contents.uint64_contents());
    case DataType::kInt8:
      return PackAs<int8_t>(contents.int_contents());
    case DataType::kInt16:
      return PackAs<int16_t>(contents.int_contents());
    case DataType::kInt32:
      return PackAs<int32_t>(contents.int_contents());
    case DataType::kInt64:
      return PackAs<int64_t>(contents.int64_contents());
    case DataType::kFp32:
      return PackAs<float>(contents.fp32_contents());
    case DataType::kFp64:
      return PackAs<double>(contents.fp64_contents());
    case DataType::kBytes: {
      std::string bytes;
      for (const std::string& element : contents.bytes_contents()) AppendBytesElement(element, bytes);
      return bytes;
    }
    case DataType::kFp16:  // typed contents have no field for these two
    case DataType::kBf16:
    case DataType::kInvalid:
      break;
  }
  return {};
}

std::string Named(const NamedTensor& tensor) { return StrCat("output ", Quoted(tensor.name)); }

Status CheckSize(const NamedTensor& tensor) {
  const std::optional<int64_t> elements = CountElements(tensor);
  if (elements && ElementCount(tensor.shape) == elements) return {};
  return InternalError(StrCat(Named(tensor), ": ", tensor.bytes.size(), " bytes are no ", DataTypeName(tensor.type),
                              " ", ShapeToString(tensor.shape)));
}

bool IsFloat(DataType type) {
  return type == DataType::kFp16 || type == DataType::kBf16 || type == DataType::kFp32 || type == DataType::kFp64;
}

bool IsClose(double expected, double actual, const OutputComparison& comparison) {
  if (expected == actual || (std::isnan(expected) && std::isnan(actual))) return true;
  // An infinite expectation has an infinite tolerance, which would allow any number.
  if (!std::isfinite(expected)) return false;
  return std::abs(actual - expected) <= comparison.absolute + comparison.relative * std::abs(expected);
}

std::string AtIndex(const NamedTensor& expected, const NamedTensor& actual, int64_t index) {
  return StrCat(Named(actual), " ", IndexToString(actual.shape, index), ": ", ElementAsText(actual, index),
                " instead of ", ElementAsText(expected, index));
}

std::optional<std::string> FirstByteDifference(const NamedTensor& expected, const NamedTensor& actual) {
  if (expected.bytes == actual.bytes) return std::nullopt;
  if (actual.type == DataType::kBytes) {
    const auto expects = *BytesElements(expected.bytes);
    const auto has = *BytesElements(actual.bytes);
    const auto different = std::ranges::mismatch(expects, has);
    return AtIndex(expected, actual, different.in2 - has.begin());
  }
  const auto different = std::ranges::mismatch(expected.bytes, actual.bytes);
  const auto offset = static_cast<size_t>(different.in2 - actual.bytes.begin());
  return AtIndex(expected, actual, static_cast<int64_t>(offset / DataTypeSize(actual.type)));
}

std::optional<std::string> FirstBeyondTolerance(const NamedTensor& expected, const NamedTensor& actual,
                                                const OutputComparison& comparison) {
  if (!IsFloat(actual.type)) return FirstByteDifference(expected, actual);
  const int64_t elements = *CountElements(actual);
  for (int64_t i = 0; i < elements; ++i) {
    const bool close = IsClose(ElementAsDouble(expected, i), ElementAsDouble(actual, i), comparison);
    if (!close) return AtIndex(expected, actual, i);
  }
  return std::nullopt;
}

// The first of the greatest among `count` elements from `begin` on.
int64_t Argmax(const NamedTensor& tensor, int64_t begin, int64_t count) {
  int64_t greatest = begin;
  for (int64_t i = begin + 1; i < begin + count; ++i) {
    if (ElementAsDouble(tensor, i) > ElementAsDouble(tensor, greatest)) greatest = i;
  }
  return greatest;
}

std::optional<std::string> FirstOtherArgmax(const NamedTensor& expected, const NamedTensor& actual) {
  if (actual.type == DataType::kBytes) return FirstByteDifference(expected, actual);
  const int64_t elements = *CountElements(actual);
  const int64_t row = actual.shape.empty() ? 1 : actual.shape.back();
  for (int64_t begin = 0; begin < elements; begin += row) {
    const int64_t expects = Argmax(expected, begin, row);
    const int64_t has = Argmax(actual, begin, row);
    if (expects == has) continue;
    return StrCat(Named(actual), ": the greatest element is ", IndexToString(actual.shape, has), " with ",
                  ElementAsText(actual, has), " instead of ", IndexToString(actual.shape, expects), " with ",
                  ElementAsText(actual, expects));
  }
  return std::nullopt;
}

std::optional<std::string> DifferenceOf(const NamedTensor& expected, const NamedTensor& actual,
                                        const OutputComparison& comparison) {
  if (expected.type != actual.type) {
    return StrCat(Named(actual), ": ", DataTypeName(actual.type), " instead of ", DataTypeName(expected.type));
  }
  if (!ShapeFits(actual.shape, expected.shape)) {
    return StrCat(Named(actual), ": shape ", ShapeToString(actual.shape), " instead of ",
                  ShapeToString(expected.shape));
  }
  // With extents that were left open, the shapes say nothing of the sizes.
  if (const auto has = CountElements(actual), expects = CountElements(expected); has != expects) {
    return StrCat(Named(actual), ": ", *has, " elements instead of ", *expects);
  }
  switch (comparison.kind) {
    case OutputComparison::Kind::kTolerance:
      return FirstBeyondTolerance(expected, actual, comparison);
    case OutputComparison::Kind::kArgmax:
      return FirstOtherArgmax(expected, actual);
    case OutputComparison::Kind::kExact:
      break;
  }
  return FirstByteDifference(expected, actual);
}

}  // namespace

Result<OutputComparison> ParseOutputComparison(std::string_view text) {
  if (text == "exact") return OutputComparison{};
  if (text == "argmax") return OutputComparison{OutputComparison::Kind::kArgmax, 0, 0};
  constexpr std::string_view kTolerance = "tolerance:";
  if (text.starts_with(kTolerance)) {
    const std::vector<std::string_view> parts = Split(text.substr(kTolerance.size()), ',');
    const std::optional<double> relative = ParseReal(parts[0]);
    const std::optional<double> absolute = parts.size() == 2 ? ParseReal(parts[1]) : 0.0;
    if (parts.size() <= 2 && relative && absolute && *relative >= 0 && *absolute >= 0) {
      return OutputComparison{OutputComparison::Kind::kTolerance, *relative, *absolute};
    }
  }
  return InvalidArgumentError(StrCat("output check ", Quoted(text),
                                     ": expected exact, argmax or tolerance:RELATIVE[,ABSOLUTE] as in "
                                     "tolerance:1e-3,1e-5"));
}

Result<std::vector<NamedTensor>> OutputsOf(const inference::ModelInferResponse& response) {
  std::vector<NamedTensor> outputs;
  int raw = 0;  // raw contents are of the outputs without typed ones, in order
  for (const auto& output : response.outputs()) {
    NamedTensor tensor{output.name(), DataTypeFromName(output.datatype()), {}, {}};
    tensor.shape.assign(output.shape().begin(), output.shape().end());
    if (tensor.type == DataType::kInvalid) {
      return InternalError(StrCat(Named(tensor), ": unknown datatype ", Quoted(output.datatype())));
    }
    // MLServer sends empty contents beside the raw ones.
    const bool raw_left = raw < response.raw_output_contents_size();
    if (raw_left && output.contents().ByteSizeLong() == 0) {
      tensor.bytes = response.raw_output_contents(raw++);
    } else if (output.has_contents()) {
      tensor.bytes = RawContents(output.contents(), tensor.type);
    } else {
      return InternalError(StrCat(Named(tensor), " has no contents"));
    }
    FERRY_RETURN_IF_ERROR(CheckSize(tensor));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

std::optional<std::string> FindDifference(const std::vector<NamedTensor>& expected,
                                          const std::vector<NamedTensor>& actual, const OutputComparison& comparison) {
  for (const NamedTensor& expects : expected) {
    const auto found = std::ranges::find(actual, expects.name, &NamedTensor::name);
    if (found == actual.end()) return StrCat(Named(expects), " is missing");
    if (std::optional<std::string> difference = DifferenceOf(expects, *found, comparison)) return difference;
  }
  return std::nullopt;
}

}  // namespace ferry
