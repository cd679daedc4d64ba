#ifndef FERRY_TESTS_SUPPORT_REQUESTS_H_
#define FERRY_TESTS_SUPPORT_REQUESTS_H_

#include <cstring>
#include <future>
#include <memory>
#include <vector>

#include "ferry/model_config.h"
#include "ferry/request.h"

namespace ferry {

inline std::vector<float> Floats(Bytes bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// A request with one FP32 input, and the future of its answer.
struct TestRequest {
  std::unique_ptr<InferRequest> request;
  std::future<Result<InferResponse>> answer;
};

inline TestRequest MakeRequest(Shape shape, std::vector<float> values, TimePoint arrival = TimePoint()) {
  auto promise = std::make_shared<std::promise<Result<InferResponse>>>();
  TestRequest made;
  made.answer = promise->get_future();
  made.request = std::make_unique<InferRequest>(
      [promise](Result<InferResponse> result) { promise->set_value(std::move(result)); });
  auto owned = std::make_shared<std::vector<float>>(std::move(values));
  made.request->rows = shape.empty() ? 1 : shape.front();
  if (!shape.empty()) made.request->group.assign(shape.begin() + 1, shape.end());
  made.request->inputs.push_back({DataType::kFp32, std::move(shape), std::as_bytes(std::span(*owned))});
  made.request->input_bytes = static_cast<int64_t>(owned->size() * sizeof(float));
  made.request->input_owner = std::move(owned);
  made.request->outputs = {0};
  made.request->arrival = arrival;
  return made;
}

// `rows` rows of `width` elements that all hold `value`.
inline TestRequest MakeRows(int64_t rows, int64_t width, float value = 0) {
  return MakeRequest({rows, width}, std::vector<float>(static_cast<size_t>(rows * width), value));
}

// A model with one FP32 input "x" and one output "y" of `dims`.
inline ModelConfig MakeConfig(int64_t max_batch_size, Shape dims = {2}) {
  ModelConfig config;
  config.name = "model";
  config.platform = "fake";
  config.max_batch_size = max_batch_size;
  config.inputs.push_back({"x", DataType::kFp32, dims, {}, {}});
  config.outputs.push_back({"y", DataType::kFp32, std::move(dims), {}, {}});
  return config;
}

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_REQUESTS_H_
