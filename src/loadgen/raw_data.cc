#include "loadgen/raw_data.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/strings.h"
#include "loadgen/option_text.h"

namespace ferry {

namespace {

std::string BytesOfLines(std::string_view text) {
  std::string bytes;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (std::string_view line : Split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    AppendBytesElement(line, bytes);
  }
  return bytes;
}

std::string PathOf(const std::string& folder, const TensorDescription& tensor) {
  return (std::filesystem::path(folder) / tensor.name).string();
}

Result<NamedTensor> ReadTensor(const std::string& path, const TensorDescription& described,
                               const ShapesByName& shapes) {
  Result<std::string> contents = ReadFile(path);
  if (!contents.ok()) return contents.status();
  NamedTensor tensor{described.name, described.type, {}, *std::move(contents)};
  if (tensor.type == DataType::kBytes) tensor.bytes = BytesOfLines(tensor.bytes);
  const std::optional<int64_t> elements = CountElements(tensor);
  Result<Shape> shape = ResolveShape(described, shapes, elements);
  if (!shape.ok()) return shape.status();
  if (elements && ElementCount(*shape) == elements) {
    tensor.shape = *std::move(shape);
    return tensor;
  }
  return InvalidArgumentError(StrCat(Printable(path), ": ", tensor.bytes.size(), " bytes are not one row of ",
                                     DataTypeName(tensor.type), " ", ShapeToString(*shape)));
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string contents{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // A folder opens, and fails when read.
  if (file.is_open() && !file.bad()) return contents;
  return NotFoundError(StrCat(Printable(path), ": cannot be read: ", std::strerror(errno)));
}

Result<DataStep> ReadRawStep(const std::string& folder, const ModelDescription& model, const ShapesByName& shapes) {
  DataStep step;
  for (const TensorDescription& input : model.inputs) {
    const std::string path = PathOf(folder, input);
    if (input.optional && !std::filesystem::exists(path)) continue;
    Result<NamedTensor> tensor = ReadTensor(path, input, shapes);
    if (!tensor.ok()) return tensor.status();
    step.inputs.push_back(*std::move(tensor));
  }
  for (const TensorDescription& output : model.outputs) {
    const std::string path = PathOf(folder, output);
    if (!std::filesystem::exists(path)) continue;
    Result<NamedTensor> tensor = ReadTensor(path, output, {});
    if (!tensor.ok()) return tensor.status();
    step.expected.push_back(*std::move(tensor));
  }
  return step;
}

}  // namespace ferry
