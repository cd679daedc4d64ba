#include "loadgen/generated_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>

#include "base/strings.h"
#include "loadgen/half_precision.h"
#include "loadgen/uniform.h"

namespace ferry {

namespace {

// Appends one random element.
using Draw = std::function<void(std::mt19937_64&, std::string&)>;

template <typename Value>
void AppendRaw(Value value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename Number>
std::optional<Number> NumberOf(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <typename Number>
struct Ends {
  Number low;
  Number high;
};

// Null where there is no range for the input.
template <typename Number>
Result<Ends<Number>> EndsOf(const TensorDescription& input, const ValueRange* range, Number default_high) {
  if (range == nullptr) return Ends<Number>{0, default_high};
  const std::optional<Number> low = NumberOf<Number>(range->low);
  const std::optional<Number> high = NumberOf<Number>(range->high);
  if (low && high && *low < *high) return Ends<Number>{*low, *high};
  return InvalidArgumentError(StrCat("range of input ", Quoted(input.name), ": ", range->low, " to ", range->high,
                                     " are no two values of ", DataTypeName(input.type), ", the lower one first"));
}

// Ends are read in 64 bits, so that the end of the range, which itself is not drawn, may be one past what the type holds.
template <typename Stored, typename Wide = std::conditional_t<std::is_signed_v<Stored>, int64_t, uint64_t>>
Result<Draw> IntegerDraw(const TensorDescription& input, const ValueRange* range) {
  const Result<Ends<Wide>> ends = EndsOf<Wide>(input, range, 2);
  if (!ends.ok()) return ends.status();
  if (!std::in_range<Stored>(ends->low) || !std::in_range<Stored>(ends->high - 1)) {
    return InvalidArgumentError(StrCat("range of input ", Quoted(input.name), ": ", ends->low, " to ", ends->high - 1,
                                       " does not fit ", DataTypeName(input.type)));
  }
  const auto low = static_cast<uint64_t>(ends->low);
  const uint64_t size = static_cast<uint64_t>(ends->high) - low;
  return Draw([low, size](std::mt19937_64& random, std::string& bytes) {
    AppendRaw(static_cast<Stored>(low + UniformBelow(random, size)), bytes);
  });
}

// `store` turns the value into what the tensor holds; `largest` is the largest finite one.
template <typename Number, typename Store>
Result<Draw> FloatDraw(const TensorDescription& input, const ValueRange* range, Number largest, Store store) {
  const Result<Ends<Number>> ends = EndsOf<Number>(input, range, 1);
  if (!ends.ok()) return ends.status();
  if (std::max(std::abs(ends->low), std::abs(ends->high)) > largest) {
    return InvalidArgumentError(StrCat("range of input ", Quoted(input.name), ": ", range->low, " to ", range->high,
                                       " does not fit ", DataTypeName(input.type)));
  }
  const double low = ends->low;
  const double high = ends->high;
  return Draw([low, high, store](std::mt19937_64& random, std::string& bytes) {
    const double unit = UniformUnit(random);
    const auto value = static_cast<Number>(low * (1 - unit) + high * unit);
    AppendRaw(store(value < high ? value : static_cast<Number>(low)), bytes);  // rounding may have reached the end
  });
}

Draw StringDraw(int64_t length) {
  return [length](std::mt19937_64& random, std::string& bytes) {
    static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::string element(static_cast<size_t>(length), ' ');
    for (char& letter : element) letter = kLetters[UniformBelow(random, kLetters.size())];
    AppendBytesElement(element, bytes);
  };
}

Result<Draw> DrawFor(const TensorDescription& input, const RequestDataOptions& options) {
  const auto found = options.ranges.find(input.name);
  const ValueRange* range = found == options.ranges.end() ? nullptr : &found->second;
  const auto as_is = [](auto value) { return value; };
  switch (input.type) {
    case DataType::kBool:
      if (range != nullptr) break;
      return IntegerDraw<uint8_t>(input, nullptr);
    case DataType::kUint8:
      return IntegerDraw<uint8_t>(input, range);
    case DataType::kUint16:
      return IntegerDraw<uint16_t>(input, range);
    case DataType::kUint32:
      return IntegerDraw<uint32_t>(input, range);
    case DataType::kUint64:
      return IntegerDraw<uint64_t>(input, range);
    case DataType::kInt8:
      return IntegerDraw<int8_t>(input, range);
    case DataType::kInt16:
      return IntegerDraw<int16_t>(input, range);
    case DataType::kInt32:
      return IntegerDraw<int32_t>(input, range);
    case DataType::kInt64:
      return IntegerDraw<int64_t>(input, range);
    case DataType::kFp16:
      return FloatDraw<float>(input, range, 65504, Fp16FromFloat);
    case DataType::kBf16:
      return FloatDraw<float>(input, range, FloatFromBf16(0x7f7f), Bf16FromFloat);
    case DataType::kFp32:
      return FloatDraw<float>(input, range, std::numeric_limits<float>::max(), as_is);
    case DataType::kFp64:
      return FloatDraw<double>(input, range, std::numeric_limits<double>::max(), as_is);
    case DataType::kBytes:
      if (range != nullptr) break;
      return StringDraw(options.string_length);
    case DataType::kInvalid:
      break;
  }
  return InvalidArgumentError(
      StrCat("range of input ", Quoted(input.name), ": values of ", DataTypeName(input.type), " have none"));
}

bool IsWanted(const TensorDescription& input, const RequestDataOptions& options) {
  return !input.optional || options.shapes.contains(input.name) || options.ranges.contains(input.name);
}

struct Column {
  NamedTensor empty;  // the tensor of each step, without its bytes
  int64_t elements = 0;
  Draw draw;
};

// What generated requests have to hold in memory, roughly, for each row.
int64_t BytesOfRow(const std::vector<Column>& columns, const RequestDataOptions& options) {
  double bytes = 1;
  for (const Column& column : columns) {
    const bool strings = column.empty.type == DataType::kBytes;
    const double element = strings ? 4.0 + static_cast<double>(options.string_length)
                                   : static_cast<double>(DataTypeSize(column.empty.type));
    bytes += element * static_cast<double>(column.elements);
  }
  return static_cast<int64_t>(std::min(bytes, 4e18));
}

Result<std::vector<Column>> Columns(const ModelDescription& model, const RequestDataOptions& options) {
  std::vector<Column> columns;
  for (const TensorDescription& input : model.inputs) {
    if (!IsWanted(input, options)) continue;
    Result<Shape> shape = ResolveShape(input, options.shapes);
    if (!shape.ok()) return shape.status();
    Result<Draw> draw = DrawFor(input, options);
    if (!draw.ok()) return draw.status();
    const std::optional<int64_t> elements = ElementCount(*shape);
    if (!elements) {
      return InvalidArgumentError(
          StrCat("input ", Quoted(input.name), ": ", ShapeToString(*shape), " has too many elements"));
    }
    columns.push_back({{input.name, input.type, *std::move(shape), {}}, *elements, *std::move(draw)});
  }
  // A request is one message, and protobuf's messages end at 2 GiB.
  if (const int64_t row = BytesOfRow(columns, options); row >= (int64_t{1} << 31) / options.batch_size) {
    return InvalidArgumentError(StrCat("model ", Quoted(model.name), ": a request of ", options.batch_size, " rows of ",
                                       row, " bytes is over 2 GiB"));
  }
  return columns;
}

}  // namespace

Result<std::vector<DataStep>> ZeroSteps(const ModelDescription& model, const RequestDataOptions& options) {
  const Result<std::vector<Column>> columns = Columns(model, options);
  if (!columns.ok()) return columns.status();
  DataStep step;
  for (const Column& column : *columns) {
    const size_t element = column.empty.type == DataType::kBytes ? sizeof(uint32_t) : DataTypeSize(column.empty.type);
    step.inputs.push_back(column.empty);
    step.inputs.back().bytes.assign(static_cast<size_t>(column.elements) * element, '\0');
  }
  return std::vector{std::move(step)};
}

Result<std::vector<DataStep>> RandomSteps(const ModelDescription& model, const RequestDataOptions& options) {
  const Result<std::vector<Column>> columns = Columns(model, options);
  if (!columns.ok()) return columns.status();
  const int64_t fitting = options.most_bytes / BytesOfRow(*columns, options) / options.batch_size;
  const int64_t requests = std::max<int64_t>(std::min(options.distinct, fitting), 1);
  std::mt19937_64 random(options.seed);
  std::vector<DataStep> steps(static_cast<size_t>(requests * options.batch_size));
  for (DataStep& step : steps) {
    for (const Column& column : *columns) {
      step.inputs.push_back(column.empty);
      for (int64_t i = 0; i < column.elements; ++i) column.draw(random, step.inputs.back().bytes);
    }
  }
  return steps;
}

}  // namespace ferry
