#include "loadgen/named_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/strings.h"

namespace ferry {

static_assert(std::endian::native == std::endian::little, "raw contents are written as they lie in memory");

namespace {

std::string ShapeFlagFor(const TensorDescription& input) {
  std::string flag = StrCat("--shape ", Printable(input.name), ":");
  for (size_t i = 0; i < input.shape.size(); ++i) {
    flag += i == 0 ? "" : ",";
    flag += input.shape[i] < 0 ? "N" : std::to_string(input.shape[i]);
  }
  return flag;
}

// Sets the one open extent so that the elements fit, if they can.
bool FillOpenExtent(int64_t elements, Shape& shape) {
  if (std::ranges::count(shape, -1) != 1) return false;
  int64_t& open = *std::ranges::find(shape, -1);
  open = 1;
  const std::optional<int64_t> others = ElementCount(shape);
  const bool divides = others && *others > 0 && elements % *others == 0;
  open = divides ? elements / *others : -1;
  return divides;
}

}  // namespace

void AppendBytesElement(std::string_view element, std::string& bytes) {
  const auto size = static_cast<uint32_t>(element.size());
  char prefix[sizeof(size)];
  std::memcpy(prefix, &size, sizeof(size));
  bytes.append(prefix, sizeof(size)).append(element);
}

std::optional<std::vector<std::string_view>> BytesElements(std::string_view bytes) {
  std::vector<std::string_view> elements;
  while (!bytes.empty()) {
    uint32_t size = 0;
    if (bytes.size() < sizeof(size)) return std::nullopt;
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes.remove_prefix(sizeof(size));
    if (bytes.size() < size) return std::nullopt;
    elements.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return elements;
}

std::optional<int64_t> CountElements(const NamedTensor& tensor) {
  if (tensor.type == DataType::kBytes) {
    const auto elements = BytesElements(tensor.bytes);
    if (!elements) return std::nullopt;
    return static_cast<int64_t>(elements->size());
  }
  const size_t size = DataTypeSize(tensor.type);
  if (size == 0 || tensor.bytes.size() % size != 0) return std::nullopt;
  return static_cast<int64_t>(tensor.bytes.size() / size);
}

bool ShapeFits(const Shape& shape, const Shape& allowed) {
  return std::ranges::equal(shape, allowed,
                            [](int64_t extent, int64_t allows) { return allows < 0 || extent == allows; });
}

Result<Shape> ResolveShape(const TensorDescription& input, const ShapesByName& shapes,
                           std::optional<int64_t> elements) {
  if (const auto set = shapes.find(input.name); set != shapes.end()) {
    if (ShapeFits(set->second, input.shape)) return set->second;
    return InvalidArgumentError(StrCat("--shape ", Printable(input.name), ": ", ShapeToString(set->second),
                                       " does not fit the model's ", ShapeToString(input.shape),
                                       " (the batch dimension is not part of it)"));
  }
  Shape shape = input.shape;
  if (std::ranges::count(shape, -1) == 0) return shape;
  if (elements && FillOpenExtent(*elements, shape)) return shape;
  return InvalidArgumentError(StrCat("input ", Quoted(input.name), " has the variable shape ",
                                     ShapeToString(input.shape), ": set it with ", ShapeFlagFor(input)));
}

}  // namespace ferry
