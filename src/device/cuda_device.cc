#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>

#include "base/strings.h"
#include "device/cuda_status.h"
#include "ferry/device.h"

namespace ferry {

namespace {

// Calls CUDA for one GPU, and remembers the first error that ended the context.
class Gpu {
 public:
  explicit Gpu(int index) : index_(index), name_(StrCat("cuda:", index)) {}

  const std::string& name() const { return name_; }

  // Makes `call` with this GPU as the thread's current one. It stays that: to set it back could create a context, with
  // half a gigabyte, on a GPU that nobody uses.
  template <typename Call>
  cudaError_t Do(Call call) {
    cudaError_t error = cudaSetDevice(index_);
    if (error == cudaSuccess) error = call();
    if (error == cudaSuccess) return cudaSuccess;
    // What the runtime keeps as the thread's last error would be taken for one of libtorch's next kernel.
    (void)cudaGetLastError();
    if (EndsContext(error)) NoteEnd(error);
    return error;
  }

  // The same as a Status; `what` says what was tried, "cannot ...".
  template <typename Call>
  Status Try(std::string_view what, Call call) {
    const cudaError_t error = Do(call);
    return error == cudaSuccess ? Status() : StatusOf(error, what);
  }

  Status StatusOf(cudaError_t error, std::string_view what) const {
    return CudaStatus(error, StrCat(name_, ": ", what));
  }

  void NoteEnd(cudaError_t error) {
    cudaError_t none = cudaSuccess;
    end_.compare_exchange_strong(none, error);
  }
  // cudaSuccess while the context lives.
  cudaError_t end() const { return end_; }

 private:
  const int index_;
  const std::string name_;
  std::atomic<cudaError_t> end_ = cudaSuccess;
};

class CudaEvent final : public DeviceEvent {
 public:
  CudaEvent(Gpu& gpu, cudaEvent_t event) : gpu_(gpu), event_(event) {}
  ~CudaEvent() override {
    (void)gpu_.Do([&] { return cudaEventDestroy(event_); });
  }

  Status Wait() override {
    return gpu_.Try("the work failed", [&] { return cudaEventSynchronize(event_); });
  }

  cudaEvent_t get() const { return event_; }

 private:
  Gpu& gpu_;
  const cudaEvent_t event_;
};

class CudaStream final : public DeviceStream {
 public:
  CudaStream(Gpu& gpu, cudaStream_t stream) : gpu_(gpu), stream_(stream) {}
  ~CudaStream() override {
    (void)Wait();
    (void)gpu_.Do([&] { return cudaStreamDestroy(stream_); });
  }

  Status CopyToDevice(std::byte* to, Bytes from) override { return Copy(to, from, cudaMemcpyHostToDevice); }
  Status CopyToHost(std::byte* to, Bytes from) override { return Copy(to, from, cudaMemcpyDeviceToHost); }

  Status Record(DeviceEvent& event) override {
    return gpu_.Try("cannot record an event", [&] { return cudaEventRecord(NativeEvent(event), stream_); });
  }

  Status WaitFor(const DeviceEvent& event) override {
    return gpu_.Try("cannot wait for an event", [&] { return cudaStreamWaitEvent(stream_, NativeEvent(event)); });
  }

  Status Wait() override {
    return gpu_.Try("the work failed", [&] { return cudaStreamSynchronize(stream_); });
  }

  void* native_handle() override { return stream_; }

 private:
  // Events of this device are CudaEvents, and the contract allows no others.
  static cudaEvent_t NativeEvent(const DeviceEvent& event) { return static_cast<const CudaEvent&>(event).get(); }

  Status Copy(std::byte* to, Bytes from, cudaMemcpyKind kind) {
    if (from.empty()) return Status();
    return gpu_.Try("cannot begin a copy",
                    [&] { return cudaMemcpyAsync(to, from.data(), from.size(), kind, stream_); });
  }

  Gpu& gpu_;
  const cudaStream_t stream_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : state_(std::make_shared<Gpu>(index)), gpu_(*state_) {}
  ~CudaDevice() override {
    if (probe_ != nullptr) (void)gpu_.Do([&] { return cudaStreamDestroy(probe_); });
  }

  // Creates the context, which takes the first caller in the process about a second.
  Status Open() {
    return gpu_.Try("cannot be used", [&] { return cudaStreamCreateWithFlags(&probe_, cudaStreamNonBlocking); });
  }

  const std::string& name() const override { return gpu_.name(); }
  bool SharesHostMemory() const override { return false; }

  Result<MemoryBlock> AllocateHost(size_t bytes) override {
    return Allocate(
        bytes, "pinned host memory",
        [](void** memory, size_t size) { return cudaHostAlloc(memory, size, cudaHostAllocPortable); }, cudaFreeHost);
  }

  Result<MemoryBlock> AllocateDevice(size_t bytes) override {
    return Allocate(
        bytes, "device memory", [](void** memory, size_t size) { return cudaMalloc(memory, size); }, cudaFree);
  }

  Result<std::unique_ptr<DeviceStream>> CreateStream() override {
    cudaStream_t stream = nullptr;
    // Non-blocking: not held up by what others put on the default stream.
    FERRY_RETURN_IF_ERROR(
        gpu_.Try("cannot create a stream", [&] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }));
    return std::unique_ptr<DeviceStream>(std::make_unique<CudaStream>(gpu_, stream));
  }

  Result<std::unique_ptr<DeviceEvent>> CreateEvent() override {
    cudaEvent_t event = nullptr;
    FERRY_RETURN_IF_ERROR(gpu_.Try("cannot create an event", [&] {
      return cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming);
    }));
    return std::unique_ptr<DeviceEvent>(std::make_unique<CudaEvent>(gpu_, event));
  }

  Status CheckHealth() override {
    if (gpu_.end() == cudaSuccess) Probe();
    const cudaError_t end = gpu_.end();
    if (end == cudaSuccess) return Status();
    return UnavailableError(gpu_.StatusOf(end, "cannot be used again in this process").message());
  }

 private:
  // The probe stream is always empty, so that asking for its state fails only for what ended the context: an error that
  // libtorch met, for example.
  void Probe() {
    const cudaError_t error = gpu_.Do([&] { return cudaStreamQuery(probe_); });
    // While a CUDA graph is captured, no stream may be asked.
    if (error == cudaSuccess || error == cudaErrorNotReady || error == cudaErrorStreamCaptureUnsupported) return;
    gpu_.NoteEnd(error);
  }

  template <typename AllocateMemory, typename FreeMemory>
  Result<MemoryBlock> Allocate(size_t bytes, std::string_view kind, AllocateMemory allocate, FreeMemory free) {
    void* memory = nullptr;
    // CUDA gives no address for no bytes.
    FERRY_RETURN_IF_ERROR(gpu_.Try(StrCat("cannot allocate ", bytes, " bytes of ", kind),
                                   [&] { return allocate(&memory, std::max<size_t>(bytes, 1)); }));
    return MemoryBlock(static_cast<std::byte*>(memory),
                       [gpu = state_, free](std::byte* block) { (void)gpu->Do([&] { return free(block); }); });
  }

  const std::shared_ptr<Gpu> state_;  // shared with the memory given out
  Gpu& gpu_;
  cudaStream_t probe_ = nullptr;
};

}  // namespace

int CountGpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

Result<std::unique_ptr<Device>> MakeCudaDevice(int index) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    (void)cudaGetLastError();
    return NotFoundError(CudaStatus(error, StrCat("GPU ", index)).message());
  }
  if (index < 0 || index >= count) {
    return NotFoundError(StrCat("GPU ", index, ": this process sees ", count, ", numbered from 0"));
  }
  auto device = std::make_unique<CudaDevice>(index);
  FERRY_RETURN_IF_ERROR(device->Open());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace ferry
