// What each step of a request's way through the server costs by itself: Google Benchmark.

#include <benchmark/benchmark.h>

#include "execution/batch_buffer.h"
#include "frontend/grpc/infer_message.h"
#include "frontend/grpc/infer_response.h"
#include "frontend/request_validator.h"
#include "support/host_device.h"
#include "support/requests.h"

namespace ferry {
namespace {

// gRPC reads into slices of up to 64 KiB.
constexpr size_t kSlice = size_t{64} << 10;
constexpr int64_t kSmall = 16;             // elements: 64 bytes
constexpr int64_t kImage = 3 * 224 * 224;  // 600 KB

std::string MessageOf(int64_t elements) {
  inference::ModelInferRequest proto;
  proto.set_model_name("identity");
  auto& input = *proto.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  input.add_shape(1);
  input.add_shape(elements);
  proto.add_raw_input_contents(std::string(static_cast<size_t>(elements) * sizeof(float), 'x'));
  return proto.SerializeAsString();
}

std::vector<grpc::Slice> SlicesOf(const std::string& message) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < message.size(); at += kSlice) slices.emplace_back(message.substr(at, kSlice));
  return slices;
}

std::vector<Bytes> PiecesOf(const std::vector<grpc::Slice>& slices) {
  std::vector<Bytes> pieces;
  for (const grpc::Slice& slice : slices) {
    pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
  }
  return pieces;
}

void BM_ParseInPlace(benchmark::State& state) {
  const std::vector<grpc::Slice> slices = SlicesOf(MessageOf(state.range(0)));
  const std::vector<Bytes> pieces = PiecesOf(slices);
  for (auto _ : state) benchmark::DoNotOptimize(ParseInferRequest(pieces));
}
BENCHMARK(BM_ParseInPlace)->Arg(kSmall)->Arg(kImage);

// From the buffer that gRPC hands over to a request that may be queued.
void BM_ParseAndValidate(benchmark::State& state) {
  const std::vector<grpc::Slice> slices = SlicesOf(MessageOf(state.range(0)));
  const ModelConfig config = MakeConfig(8, {-1});
  for (auto _ : state) {
    grpc::ByteBuffer buffer(slices.data(), slices.size());
    const std::shared_ptr<InferMessage> message = InferMessage::Parse(&buffer).value();
    benchmark::DoNotOptimize(ValidateRequest(config, message->ToWire()));
  }
}
BENCHMARK(BM_ParseAndValidate)->Arg(kSmall)->Arg(kImage);

// What it takes with the generated class, which copies.
void BM_ParseWithProtobuf(benchmark::State& state) {
  const std::string message = MessageOf(state.range(0));
  for (auto _ : state) {
    inference::ModelInferRequest proto;
    benchmark::DoNotOptimize(proto.ParseFromString(message));
  }
}
BENCHMARK(BM_ParseWithProtobuf)->Arg(kSmall)->Arg(kImage);

Batch BatchOf(int64_t requests, int64_t elements) {
  Batch batch;
  for (int64_t i = 0; i < requests; ++i) {
    batch.requests.push_back(MakeRows(1, elements).request);
    ++batch.rows;
  }
  return batch;
}

void BM_Gather(benchmark::State& state) {
  const ModelConfig config = MakeConfig(8, {-1});
  BatchBuffer buffer(config, Host());
  const Batch batch = BatchOf(8, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(buffer.Gather(batch, batch.rows));
  state.SetBytesProcessed(state.iterations() * 8 * state.range(0) * static_cast<int64_t>(sizeof(float)));
}
BENCHMARK(BM_Gather)->Arg(kSmall)->Arg(kImage);

void BM_MemcpyOfAsMuch(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(8 * state.range(0)) * sizeof(float);
  const std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}
BENCHMARK(BM_MemcpyOfAsMuch)->Arg(kSmall)->Arg(kImage);

void BM_BuildAnswer(benchmark::State& state) {
  const std::vector<Tensor> outputs = {ZeroTensor(DataType::kFp32, {1, state.range(0)})};
  const ResponseHeader header{"identity", 1, "id", {"y"}};
  for (auto _ : state) benchmark::DoNotOptimize(BuildInferResponse(header, outputs));
}
BENCHMARK(BM_BuildAnswer)->Arg(kSmall)->Arg(kImage);

}  // namespace
}  // namespace ferry
