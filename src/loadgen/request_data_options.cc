#include "loadgen/request_data_options.h"

#include <optional>

#include "base/strings.h"
#include "loadgen/option_text.h"

namespace ferry {

namespace {

struct NameAndRest {
  std::string_view name;
  std::string_view rest;
};

// Around the last colon: names of inputs may have colons ("serving_default_x:0"), what follows here has none.
std::optional<NameAndRest> SplitAtLastColon(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return NameAndRest{text.substr(0, colon), text.substr(colon + 1)};
}

template <typename Value>
Result<RequestParameter> ParameterOf(std::string_view name, const std::optional<Value>& value, std::string_view text) {
  if (value) return RequestParameter{std::string(name), *value};
  return InvalidArgumentError(StrCat("request parameter ", Quoted(text), ": the value is not of the type given"));
}

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

}  // namespace

Result<std::pair<std::string, Shape>> ParseShapeOption(std::string_view text) {
  const Status wrong = InvalidArgumentError(StrCat(
      "--shape ", Quoted(text), ": expected NAME:EXTENT,EXTENT,... with extents of 0 or more, as in image:3,224,224"));
  const std::optional<NameAndRest> parts = SplitAtLastColon(text);
  if (!parts) return wrong;
  Shape shape;
  for (const std::string_view part : Split(parts->rest, ',')) {
    const std::optional<int64_t> extent = ParseNumber<int64_t>(part);
    if (!extent || *extent < 0) return wrong;
    shape.push_back(*extent);
  }
  if (!ElementCount(shape)) return InvalidArgumentError(StrCat("--shape ", Quoted(text), ": too many elements"));
  return std::pair(std::string(parts->name), std::move(shape));
}

Result<std::pair<std::string, ValueRange>> ParseRangeOption(std::string_view text) {
  const std::optional<NameAndRest> parts = SplitAtLastColon(text);
  const std::vector<std::string_view> ends = Split(parts ? parts->rest : "", ',');
  if (ends.size() == 2) {
    const std::optional<double> low = ParseReal(ends[0]);
    const std::optional<double> high = ParseReal(ends[1]);
    if (low && high && *low < *high) {
      return std::pair(std::string(parts->name), ValueRange{std::string(ends[0]), std::string(ends[1])});
    }
  }
  return InvalidArgumentError(
      StrCat("range ", Quoted(text), ": expected NAME:LOW,HIGH with LOW less than HIGH, as in input_ids:0,30522"));
}

Result<ImageScaling> ParseImageScaling(std::string_view text) {
  if (text == "none") return ImageScaling::kNone;
  if (text == "unit") return ImageScaling::kUnit;
  if (text == "inception") return ImageScaling::kInception;
  if (text == "imagenet") return ImageScaling::kImagenet;
  return InvalidArgumentError(StrCat("image scaling ", Quoted(text), ": must be none, unit, inception or imagenet"));
}

Result<RequestParameter> ParseRequestParameter(std::string_view text) {
  const size_t first = text.find(':');
  const size_t last = text.rfind(':');
  if (first == last || first == 0) {
    return InvalidArgumentError(StrCat("request parameter ", Quoted(text), ": expected NAME:VALUE:TYPE"));
  }
  const std::string_view name = text.substr(0, first);
  const std::string_view value = text.substr(first + 1, last - first - 1);
  const std::string_view type = text.substr(last + 1);
  if (type == "bool") return ParameterOf(name, ParseBool(value), text);
  if (type == "int") return ParameterOf(name, ParseNumber<int64_t>(value), text);
  if (type == "double") return ParameterOf(name, ParseReal(value), text);
  if (type == "string") return ParameterOf(name, std::optional(std::string(value)), text);
  return InvalidArgumentError(
      StrCat("request parameter ", Quoted(text), ": type ", Quoted(type), " is not one of bool, int, double, string"));
}

}  // namespace ferry
