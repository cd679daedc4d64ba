#include "loadgen/request_data.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "base/strings.h"
#include "grpc_service.pb.h"
#include "loadgen/generated_data.h"
#include "loadgen/image_data.h"
#include "loadgen/json_data.h"
#include "loadgen/raw_data.h"

namespace ferry {

namespace {

Status CheckBatchSize(const ModelDescription& model, int64_t batch_size) {
  if (batch_size < 1) return InvalidArgumentError(StrCat("batch size ", batch_size, " is less than 1"));
  if (!model.batched && batch_size != 1) {
    return InvalidArgumentError(
        StrCat("model ", Quoted(model.name), ": batch size ", batch_size, ", but the model has no batch dimension"));
  }
  if (model.batched && model.max_batch_size && batch_size > *model.max_batch_size) {
    return InvalidArgumentError(StrCat("model ", Quoted(model.name), ": batch size ", batch_size,
                                       " exceeds max_batch_size ", *model.max_batch_size));
  }
  return {};
}

template <typename Named>
Status CheckNames(const ModelDescription& model, const Named& named, std::string_view option) {
  std::vector<std::string> inputs;
  for (const TensorDescription& input : model.inputs) inputs.push_back(Printable(input.name));
  for (const auto& [name, unused] : named) {
    if (model.FindInput(name) != nullptr) continue;
    return InvalidArgumentError(StrCat(option, " ", Printable(name), ": model ", Quoted(model.name),
                                       " has no such input, but ", StrJoin(inputs, ", ")));
  }
  return {};
}

Status CheckOptions(const ModelDescription& model, const RequestDataOptions& options) {
  FERRY_RETURN_IF_ERROR(CheckBatchSize(model, options.batch_size));
  FERRY_RETURN_IF_ERROR(CheckNames(model, options.shapes, "--shape"));
  FERRY_RETURN_IF_ERROR(CheckNames(model, options.ranges, "range"));
  if (options.string_length >= 0) return {};
  return InvalidArgumentError(StrCat("string length ", options.string_length, " is less than 0"));
}

Result<std::vector<DataStep>> StepsFromFiles(const ModelDescription& model, const RequestDataOptions& options) {
  constexpr std::string_view kImages = "images:";
  if (options.source.starts_with(kImages)) {
    return ReadImageSteps(options.source.substr(kImages.size()), model, options.shapes, options.image_scaling);
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(options.source, ignored)) {
    Result<DataStep> step = ReadRawStep(options.source, model, options.shapes);
    if (!step.ok()) return step.status();
    return std::vector{*std::move(step)};
  }
  const Result<std::string> json = ReadFile(options.source);
  if (!json.ok()) return json.status();
  Result<std::vector<DataStep>> steps = ParseJsonSteps(*json, model, options.shapes);
  if (!steps.ok()) return steps.status().WithPrefix(StrCat(Printable(options.source), ": "));
  return steps;
}

// The tensors of one side (inputs or expected outputs) of each row of a batch.
using Rows = std::vector<const std::vector<NamedTensor>*>;

Status CheckAlike(const NamedTensor& first, const NamedTensor& other) {
  if (first.name == other.name && first.shape == other.shape) return {};
  if (first.name != other.name) {
    return InvalidArgumentError(
        StrCat("the steps of one batch have different tensors: ", Quoted(first.name), " and ", Quoted(other.name)));
  }
  return InvalidArgumentError(StrCat("the steps of one batch have different shapes of ", Quoted(first.name), ": ",
                                     ShapeToString(first.shape), " and ", ShapeToString(other.shape)));
}

Result<std::vector<NamedTensor>> Stack(const Rows& rows, bool batched) {
  std::vector<NamedTensor> stacked = *rows.front();
  for (const std::vector<NamedTensor>* row : std::span(rows).subspan(1)) {
    if (row->size() != stacked.size()) return InvalidArgumentError("the steps of one batch have not the same tensors");
    for (size_t i = 0; i < row->size(); ++i) {
      FERRY_RETURN_IF_ERROR(CheckAlike(stacked[i], (*row)[i]));
      stacked[i].bytes += (*row)[i].bytes;
    }
  }
  if (!batched) return stacked;
  for (NamedTensor& tensor : stacked) tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(rows.size()));
  return stacked;
}

void SetParameter(const RequestParameter& from, inference::InferParameter& to) {
  if (const auto* boolean = std::get_if<bool>(&from.value)) to.set_bool_param(*boolean);
  if (const auto* integer = std::get_if<int64_t>(&from.value)) to.set_int64_param(*integer);
  if (const auto* real = std::get_if<double>(&from.value)) to.set_double_param(*real);
  if (const auto* text = std::get_if<std::string>(&from.value)) to.set_string_param(*text);
}

Result<std::string> Serialize(const ModelDescription& model, const RequestDataOptions& options,
                              std::vector<NamedTensor> inputs) {
  inference::ModelInferRequest request;
  request.set_model_name(model.name);
  request.set_model_version(model.version);
  for (const RequestParameter& parameter : options.parameters) {
    SetParameter(parameter, (*request.mutable_parameters())[parameter.name]);
  }
  for (NamedTensor& tensor : inputs) {
    auto& input = *request.add_inputs();
    input.set_name(tensor.name);
    input.set_datatype(std::string(DataTypeName(tensor.type)));
    input.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
    request.add_raw_input_contents(std::move(tensor.bytes));
  }
  if (const size_t size = request.ByteSizeLong(); size > INT32_MAX) {
    return InvalidArgumentError(StrCat("model ", Quoted(model.name), ": a request of ", options.batch_size, " rows is ",
                                       size, " bytes, over 2 GiB"));
  }
  return request.SerializeAsString();
}

Result<PreparedRequest> Prepare(const ModelDescription& model, const RequestDataOptions& options, const Rows& inputs,
                                const Rows& expected) {
  Result<std::vector<NamedTensor>> stacked = Stack(inputs, model.batched);
  if (!stacked.ok()) return stacked.status();
  Result<std::vector<NamedTensor>> outputs = Stack(expected, model.batched);
  if (!outputs.ok()) return outputs.status().WithPrefix("expected outputs: ");
  Result<std::string> message = Serialize(model, options, *std::move(stacked));
  if (!message.ok()) return message.status();
  return PreparedRequest{*std::move(message), options.class_name, options.batch_size, *std::move(outputs)};
}

}  // namespace

Result<std::vector<PreparedRequest>> MakeRequests(const ModelDescription& model, const RequestDataOptions& options) {
  FERRY_RETURN_IF_ERROR(CheckOptions(model, options));
  const Result<std::vector<DataStep>> steps = options.source == "random" ? RandomSteps(model, options)
                                              : options.source == "zero" ? ZeroSteps(model, options)
                                                                         : StepsFromFiles(model, options);
  if (!steps.ok()) return steps.status();
  return RequestsOfSteps(model, options, *steps);
}

Result<std::vector<PreparedRequest>> RequestsOfSteps(const ModelDescription& model, const RequestDataOptions& options,
                                                     const std::vector<DataStep>& steps) {
  FERRY_CHECK(!steps.empty(), "requests need data");
  const auto rows = static_cast<size_t>(options.batch_size);
  // The first number of whole batches that uses every step as often as the others.
  const size_t count = steps.size() / std::gcd(steps.size(), rows);
  std::vector<PreparedRequest> requests;
  for (size_t i = 0; i < count; ++i) {
    Rows inputs;
    Rows expected;
    for (size_t row = i * rows; row < (i + 1) * rows; ++row) {
      inputs.push_back(&steps[row % steps.size()].inputs);
      expected.push_back(&steps[row % steps.size()].expected);
    }
    Result<PreparedRequest> request = Prepare(model, options, inputs, expected);
    if (!request.ok()) return request.status();
    requests.push_back(*std::move(request));
  }
  return requests;
}

std::string IdPiece(uint64_t id) {
  // Field 3 of a ModelInferRequest, of a length that one byte holds: what protobuf would write.
  char piece[2 + 20] = {3 << 3 | 2};
  const char* const end = std::to_chars(piece + 2, std::end(piece), id).ptr;
  piece[1] = static_cast<char>(end - (piece + 2));
  return std::string(piece, static_cast<size_t>(end - piece));
}

std::string QueuePiece(std::optional<uint64_t> priority, std::optional<std::chrono::microseconds> timeout) {
  inference::ModelInferRequest request;
  // Older versions of Triton take them as int64 alone.
  if (priority) (*request.mutable_parameters())["priority"].set_int64_param(static_cast<int64_t>(*priority));
  if (timeout) (*request.mutable_parameters())["timeout"].set_int64_param(timeout->count());
  return request.SerializeAsString();
}

}  // namespace ferry
