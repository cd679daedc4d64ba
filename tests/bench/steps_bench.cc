// What each step of a request's way through the server costs by itself, in time and in allocations: Google Benchmark.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <new>

#include "execution/batch_buffer.h"
#include "execution/batch_outputs.h"
#include "frontend/grpc/infer_message.h"
#include "frontend/grpc/infer_response.h"
#include "frontend/request_validator.h"
#include "support/host_device.h"
#include "support/requests.h"

namespace {
thread_local int64_t allocations = 0;
}

// All of C++'s memory comes this way: the other forms of new end here. Not inlined, so that the compiler does not take
// malloc() and free() for a mistake.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace ferry {
namespace {

// Reports the allocations of one iteration, which should be a few small ones for a request and none for a batch.
class AllocationCount {
 public:
  explicit AllocationCount(benchmark::State& state) : state_(state) {}
  ~AllocationCount() {
    state_.counters["allocations"] =
        benchmark::Counter(static_cast<double>(allocations - before_), benchmark::Counter::kAvgIterations);
  }

 private:
  benchmark::State& state_;
  const int64_t before_ = allocations;
};

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
  const AllocationCount count(state);
  for (auto _ : state) benchmark::DoNotOptimize(ParseInferRequest(pieces));
}
BENCHMARK(BM_ParseInPlace)->Arg(kSmall)->Arg(kImage);

// From the buffer that gRPC hands over to a request that may be queued.
void BM_ParseAndValidate(benchmark::State& state) {
  const std::vector<grpc::Slice> slices = SlicesOf(MessageOf(state.range(0)));
  const ModelConfig config = MakeConfig(8, {-1});
  const AllocationCount count(state);
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
  const AllocationCount count(state);
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
  const AllocationCount count(state);
  for (auto _ : state) benchmark::DoNotOptimize(buffer.Gather(batch, batch.rows));
  state.SetBytesProcessed(state.iterations() * 8 * state.range(0) * static_cast<int64_t>(sizeof(float)));
}
BENCHMARK(BM_Gather)->Arg(kSmall)->Arg(kImage);

void BM_MemcpyOfAsMuch(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(8 * state.range(0)) * sizeof(float);
  const std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  const AllocationCount count(state);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}
BENCHMARK(BM_MemcpyOfAsMuch)->Arg(kSmall)->Arg(kImage);

// The rows of each request of a batch of 8.
void BM_Scatter(benchmark::State& state) {
  const ModelConfig config = MakeConfig(8, {-1});
  const Batch batch = BatchOf(8, state.range(0));
  const std::vector<Tensor> outputs = {ZeroTensor(DataType::kFp32, {8, state.range(0)})};
  const AllocationCount count(state);
  for (auto _ : state) {
    BatchPosition position;
    for (const auto& request : batch.requests) {
      benchmark::DoNotOptimize(CutOutputs(config, *request, position, outputs));
      position.Advance(*request);
    }
  }
}
BENCHMARK(BM_Scatter)->Arg(kSmall)->Arg(kImage);

void BM_BuildAnswer(benchmark::State& state) {
  const std::vector<Tensor> outputs = {ZeroTensor(DataType::kFp32, {1, state.range(0)})};
  const ResponseHeader header{"identity", 1, "id", {"y"}};
  const AllocationCount count(state);
  for (auto _ : state) benchmark::DoNotOptimize(BuildInferResponse(header, outputs));
}
BENCHMARK(BM_BuildAnswer)->Arg(kSmall)->Arg(kImage);

}  // namespace
}  // namespace ferry
