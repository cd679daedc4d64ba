#include "backend/torch_gpu.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include "ferry/mutex.h"

namespace ferry {

namespace {

// libtorch records one graph of a process at a time, and while it does, its allocator cannot give memory back.
Mutex& RecordingMutex() {
  static Mutex mutex;
  return mutex;
}

// A failed capture_end() leaves the allocators sending the device's memory to the graph's pool.
void EndFailedCapture(at::cuda::CUDAGraph& graph, c10::DeviceIndex device, c10::MempoolId_t pool) {
  const auto attempt = [](auto&& step) {
    try {
      step();
    } catch (const std::exception&) {  // what had not begun need not end
    }
  };
  attempt([&] { graph.capture_end(); });
  attempt([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool); });
  attempt([&] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool); });
  (void)cudaGetLastError();  // the next call would be taken to have failed
}

class CudaGraph final : public RecordedWork {
 public:
  // Other threads go on using CUDA meanwhile; only this one is restricted to what can be recorded.
  CudaGraph(const std::function<void()>& work, c10::DeviceIndex device, c10::MempoolId_t pool) {
    MutexLock lock(RecordingMutex());
    try {
      graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
      work();
      graph_.capture_end();
    } catch (...) {
      EndFailedCapture(graph_, device, pool);
      throw;
    }
  }

  void Replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

void UseStream(c10::Device device, DeviceStream& stream) {
  if (!device.is_cuda()) return;
  c10::cuda::set_device(device.index());
  auto* const native = static_cast<cudaStream_t>(stream.native_handle());
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromExternal(native, device.index()));
}

void ReleaseKeptMemory(c10::Device device) {
  if (!device.is_cuda()) return;
  MutexLock lock(RecordingMutex());
  c10::cuda::CUDACachingAllocator::emptyCache();
}

RecordWork MakeWorkRecorder(c10::Device device) {
  return [device = device.index(), pool = at::cuda::graph_pool_handle()](const std::function<void()>& work) {
    return std::make_unique<CudaGraph>(work, device, pool);
  };
}

}  // namespace ferry
