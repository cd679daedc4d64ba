#include "backend/torch_tensors.h"

#include <ATen/ops/from_blob.h>

#include <array>
#include <utility>

#include "base/strings.h"

namespace ferry {

namespace {

constexpr std::array<std::pair<DataType, at::ScalarType>, 13> kTypes = {{{DataType::kBool, at::kBool},
                                                                         {DataType::kUint8, at::kByte},
                                                                         {DataType::kUint16, at::kUInt16},
                                                                         {DataType::kUint32, at::kUInt32},
                                                                         {DataType::kUint64, at::kUInt64},
                                                                         {DataType::kInt8, at::kChar},
                                                                         {DataType::kInt16, at::kShort},
                                                                         {DataType::kInt32, at::kInt},
                                                                         {DataType::kInt64, at::kLong},
                                                                         {DataType::kFp16, at::kHalf},
                                                                         {DataType::kFp32, at::kFloat},
                                                                         {DataType::kFp64, at::kDouble},
                                                                         {DataType::kBf16, at::kBFloat16}}};

at::ScalarType ToTorch(DataType type) {
  for (const auto& [ours, torchs] : kTypes) {
    if (ours == type) return torchs;
  }
  FERRY_CHECK(false, "a model with a type that torch lacks is refused at load");
}

DataType FromTorch(at::ScalarType type) {
  for (const auto& [ours, torchs] : kTypes) {
    if (torchs == type) return ours;
  }
  return DataType::kInvalid;
}

bool SharedWithOthers(const at::Tensor& tensor) { return tensor.use_count() > 1 || tensor.storage().use_count() > 1; }

}  // namespace

at::Tensor WrapInTorch(const TensorView& view, c10::Device device) {
  // torch refuses a null pointer even where there is nothing to read.
  static std::byte nothing;
  void* data = view.bytes.empty() ? &nothing : const_cast<std::byte*>(view.bytes.data());
  const auto options = at::TensorOptions().dtype(ToTorch(view.type)).device(device);
  // With its device told, torch need not ask the driver whose memory it is.
  return at::for_blob(data, view.shape).options(options).target_device(device).make_tensor();
}

Result<Tensor> TakeFromTorch(at::Tensor tensor, c10::Device device) {
  const DataType type = FromTorch(tensor.scalar_type());
  if (type == DataType::kInvalid) {
    return InvalidArgumentError(StrCat("the model returned a tensor of type ", c10::toString(tensor.scalar_type()),
                                       ", which the protocol does not have"));
  }
  if (tensor.device() != device) tensor = tensor.to(device);
  if (!tensor.is_contiguous()) {
    tensor = tensor.contiguous();
  } else if (SharedWithOthers(tensor)) {
    tensor = tensor.clone();
  }
  auto owner = std::make_shared<at::Tensor>(std::move(tensor));
  const auto* data = static_cast<const std::byte*>(owner->const_data_ptr());
  const Bytes bytes(data, static_cast<size_t>(owner->nbytes()));
  return Tensor{type, Shape(owner->sizes().begin(), owner->sizes().end()), bytes, std::move(owner)};
}

std::string OneLine(std::string_view what) {
  constexpr size_t kLongest = 512;
  while (!what.empty() && (what.back() == '\n' || what.back() == ' ')) what.remove_suffix(1);
  if (what.find("TorchScript interpreter") != std::string_view::npos) {
    if (const size_t line = what.rfind('\n'); line != std::string_view::npos) what.remove_prefix(line + 1);
    constexpr std::string_view kType = "RuntimeError: ";
    if (what.starts_with(kType)) what.remove_prefix(kType.size());
  } else {
    what = what.substr(0, what.find('\n'));
  }
  std::string line(what.substr(0, kLongest));
  // The line becomes a status message, that is, a header.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return line;
}

}  // namespace ferry
