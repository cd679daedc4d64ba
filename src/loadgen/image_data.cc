#include "loadgen/image_data.h"

#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "base/strings.h"
#include "loadgen/half_precision.h"
#include "loadgen/raw_data.h"

namespace ferry {

namespace {

// How an input takes the pixels.
struct Layout {
  int height = 0;
  int width = 0;
  int channels = 0;
  bool planar = false;  // all of one channel after the other, as in [3,H,W]
};

// Of each channel: (value - mean) / deviation, for values from 0 to 255.
struct Scale {
  std::array<float, 3> mean;
  std::array<float, 3> deviation;
};

Scale ScaleOf(ImageScaling scaling) {
  switch (scaling) {
    case ImageScaling::kUnit:
      return {{0, 0, 0}, {255, 255, 255}};
    case ImageScaling::kInception:
      return {{127.5, 127.5, 127.5}, {127.5, 127.5, 127.5}};
    case ImageScaling::kImagenet:
      return {{123.675F, 116.28F, 103.53F}, {58.395F, 57.12F, 57.375F}};
    case ImageScaling::kNone:
      break;
  }
  return {{0, 0, 0}, {1, 1, 1}};
}

std::optional<Layout> LayoutOf(Shape shape) {
  if (shape.size() == 4 && shape[0] == 1) shape.erase(shape.begin());
  constexpr int64_t kMost = 1 << 16;
  if (shape.size() != 3 || std::ranges::any_of(shape, [](int64_t extent) { return extent < 1 || extent > kMost; })) {
    return std::nullopt;
  }
  const auto at = [&](size_t i) { return static_cast<int>(shape[i]); };
  for (const int channels : {3, 1}) {
    if (shape[0] == channels) return Layout{at(1), at(2), channels, true};
    if (shape[2] == channels) return Layout{at(0), at(1), channels, false};
  }
  return std::nullopt;
}

using Pixels = std::vector<uint8_t>;  // row by row, the channels of each together

Result<Pixels> Decode(const std::string& file, const Layout& layout) {
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(file.data()), static_cast<int>(file.size()), &width,
                            &height, &channels, layout.channels),
      stbi_image_free);
  if (!pixels) return InvalidArgumentError(StrCat("is no image that can be read: ", stbi_failure_reason()));
  Pixels resized(static_cast<size_t>(layout.height) * static_cast<size_t>(layout.width) *
                 static_cast<size_t>(layout.channels));
  // Bilinear, as most models were trained with; it leaves an image that has the size already as it is.
  if (stbir_resize_uint8_generic(pixels.get(), width, height, 0, resized.data(), layout.width, layout.height, 0,
                                 layout.channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
                                 STBIR_COLORSPACE_LINEAR, nullptr) == 0) {
    return InvalidArgumentError(StrCat("cannot be resized to ", layout.height, " x ", layout.width));
  }
  return resized;
}

void Append(DataType type, float value, std::string& bytes) {
  const auto append = [&](auto element) { bytes.append(reinterpret_cast<const char*>(&element), sizeof element); };
  if (type == DataType::kUint8) return append(static_cast<uint8_t>(value));
  if (type == DataType::kFp16) return append(Fp16FromFloat(value));
  append(value);
}

std::string Contents(const Pixels& pixels, const Layout& layout, DataType type, const Scale& scale) {
  std::string bytes;
  bytes.reserve(pixels.size() * DataTypeSize(type));
  const auto channels = static_cast<size_t>(layout.channels);
  const size_t places = pixels.size() / channels;
  for (size_t i = 0; i < pixels.size(); ++i) {
    const size_t channel = layout.planar ? i / places : i % channels;
    const size_t place = layout.planar ? i % places : i / channels;
    const float value = pixels[place * channels + channel];
    Append(type, (value - scale.mean[channel]) / scale.deviation[channel], bytes);
  }
  return bytes;
}

Result<std::vector<std::string>> ImageFiles(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    std::string ending = entry.path().extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const std::string_view known : {".jpg", ".jpeg", ".png", ".bmp", ".ppm"}) {
      if (ending == known) files.push_back(entry.path().string());
    }
  }
  if (files.empty()) return NotFoundError(StrCat(Printable(path), ": no image in this folder"));
  std::ranges::sort(files);
  return files;
}

Status CheckInput(const TensorDescription& input, const Shape& shape, ImageScaling scaling) {
  const bool bytes = input.type == DataType::kBytes && ElementCount(shape) == 1;
  const bool decoded =
      (input.type == DataType::kUint8 || input.type == DataType::kFp16 || input.type == DataType::kFp32) &&
      LayoutOf(shape).has_value();
  if (!bytes && !decoded) {
    return InvalidArgumentError(
        StrCat("input ", Quoted(input.name), ": ", DataTypeName(input.type), " ", ShapeToString(shape),
               " is not of images; those are UINT8, FP16 or FP32 [3,H,W] or [H,W,3], or BYTES"));
  }
  if (scaling == ImageScaling::kNone || (decoded && input.type != DataType::kUint8)) return {};
  return InvalidArgumentError(
      StrCat("input ", Quoted(input.name), ": ", DataTypeName(input.type), " cannot hold scaled pixels"));
}

}  // namespace

Result<std::vector<DataStep>> ReadImageSteps(const std::string& path, const ModelDescription& model,
                                             const ShapesByName& shapes, ImageScaling scaling) {
  if (model.inputs.size() != 1) {
    return InvalidArgumentError(
        StrCat("model ", Quoted(model.name), " has ", model.inputs.size(), " inputs; images are for models with one"));
  }
  const TensorDescription& input = model.inputs.front();
  const Result<Shape> shape =
      ResolveShape(input, shapes, input.type == DataType::kBytes ? std::optional<int64_t>(1) : std::nullopt);
  if (!shape.ok()) return shape.status();
  FERRY_RETURN_IF_ERROR(CheckInput(input, *shape, scaling));
  const Result<std::vector<std::string>> files = ImageFiles(path);
  if (!files.ok()) return files.status();
  std::vector<DataStep> steps;
  for (const std::string& name : *files) {
    const Result<std::string> file = ReadFile(name);
    if (!file.ok()) return file.status();
    NamedTensor tensor{input.name, input.type, *shape, {}};
    if (input.type == DataType::kBytes) {
      AppendBytesElement(*file, tensor.bytes);
    } else {
      const Layout layout = *LayoutOf(*shape);
      const Result<Pixels> pixels = Decode(*file, layout);
      if (!pixels.ok()) return pixels.status().WithPrefix(StrCat(Printable(name), ": "));
      tensor.bytes = Contents(*pixels, layout, input.type, ScaleOf(scaling));
    }
    steps.emplace_back().inputs.push_back(std::move(tensor));
  }
  return steps;
}

}  // namespace ferry
