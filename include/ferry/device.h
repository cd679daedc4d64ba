#ifndef FERRY_DEVICE_H_
#define FERRY_DEVICE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ferry/mutex.h"
#include "ferry/placement.h"
#include "ferry/status.h"
#include "ferry/tensor.h"

namespace ferry {

// The seam to where models run: a Device gives out memory, a DeviceStream moves bytes and puts work in order, a
// DeviceEvent tells when work is done. No CUDA type shows here. Nothing throws.
//
// Errors of every call that can fail:
//   RESOURCE_EXHAUSTED  there is no memory; later calls may succeed
//   UNAVAILABLE         the device is dead (Device::CheckHealth)
//   INTERNAL            anything else; what failed is that call or the work that it tells of, and nothing else

// Memory that goes back to its device when the last owner lets go, on any thread.
using MemoryBlock = std::shared_ptr<std::byte>;

// DeviceEvent is a mark in the work of a stream (DeviceStream::Record), used again for batch after batch.
//
// Threading: recorded by one thread at a time; while it is not being recorded any threads may wait for it.
// Blocking:  Wait() sleeps, it does not spin.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;

  // Returns when the work is done that was begun before the last Record(): OK, or why it failed. At once where the
  // event was never recorded.
  virtual Status Wait() = 0;
};

// DeviceStream is a queue of work. Its work is done in the order in which it was begun, beside that of other streams.
//
// Guarantees: work that fails is told by the next event recorded behind it, and by those of streams that wait for that
//             event. The destructor waits for the stream's work.
// Threading:  one thread at a time.
// Blocking:   only Wait() and the destructor wait for work.
// Ownership:  borrows its Device, which must outlive it, and all memory and events that its work uses.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  // Begin a copy. Both sides stay as they are until an event recorded behind it tells that it is done.
  // REQUIRES: one side is memory on this device, of AllocateDevice() or of the framework that runs there; the other is
  //           of this device's AllocateHost(). (A copy from or to other host memory would make the caller wait.)
  virtual Status CopyToDevice(std::byte* to, Bytes from) = 0;
  virtual Status CopyToHost(std::byte* to, Bytes from) = 0;

  // Puts `event` behind all work begun so far; what it told before is forgotten.
  // REQUIRES: an event of this device.
  virtual Status Record(DeviceEvent& event) = 0;

  // Work begun later waits, on the device, for the work that `event` stands for now.
  // REQUIRES: an event of this device.
  virtual Status WaitFor(const DeviceEvent& event) = 0;

  // Waits for all work begun so far. For what has failed half-way: afterwards its memory is free to be used again, also
  // when this returns an error.
  virtual Status Wait() = 0;

  // The cudaStream_t, for the framework that puts the model's work here; it must have let go of it before the stream
  // ends. Null where the model runs on the thread that calls it.
  virtual void* native_handle() = 0;
};

// Device is one place where models run: the host's processors, or one GPU.
//
// Threading: thread-safe. A call makes the device's GPU the current one of the calling thread, and leaves it so.
// Blocking:  whatever gives out memory, streams and events is slow, and freeing memory may wait for all work of the
//            device: for loading and unloading, not for each batch.
// Ownership: outlives its streams and events. Memory may outlive it: what is on its way to a client goes when gRPC lets go.
class Device {
 public:
  virtual ~Device() = default;

  // "cpu", "cuda:0"
  virtual const std::string& name() const = 0;

  // True where the device works on the host's memory, so that nothing has to be copied.
  virtual bool SharesHostMemory() const = 0;

  // `bytes` bytes, aligned to 64, not initialised. Host memory is pinned where the device copies from and to it, and
  // good for every GPU; only the device may touch device memory, unless it shares the host's.
  virtual Result<MemoryBlock> AllocateHost(size_t bytes) = 0;
  virtual Result<MemoryBlock> AllocateDevice(size_t bytes) = 0;

  virtual Result<std::unique_ptr<DeviceStream>> CreateStream() = 0;
  virtual Result<std::unique_ptr<DeviceEvent>> CreateEvent() = 0;

  // OK, or UNAVAILABLE with the reason when the device is dead: an error has destroyed this process's state on it (an
  // illegal address in a kernel, say), every call fails from now on, and only a new process can use it. Asked after a
  // failure, whoever reported it, this tells the one kind from the other. Does not wait for work.
  virtual Status CheckHealth() = 0;
};

// GPUs that this process can use: 0 without a driver, and in a build without CUDA.
int CountGpus();

// The host. Copies are done when they return, and streams and events have nothing to wait for.
std::unique_ptr<Device> MakeHostDevice();

// A GPU, by its number among those that the process sees.
//   NOT_FOUND      there is no such GPU, or no driver; the message says which
//   UNIMPLEMENTED  this is a build without CUDA
Result<std::unique_ptr<Device>> MakeCudaDevice(int index);

// Devices are the places where the models of a server may run, each opened when it is first asked for: a GPU's context
// takes a second and half a gigabyte, which a server without a model on it does not spend.
//
// Threading: thread-safe. Outlives whatever runs on the devices.
class Devices {
 public:
  // Makes the device of a placement.
  using Open = std::function<Result<std::unique_ptr<Device>>(Placement placement)>;

  // The host and this process's GPUs.
  Devices();
  // The host and `gpus` others, for tests.
  Devices(int gpus, Open open) : gpus_(gpus), open_(std::move(open)) {}

  int gpus() const { return gpus_; }

  // Blocks while the device is opened. A device that could not be opened is tried again by the next call.
  Result<Device*> At(Placement placement);

 private:
  const int gpus_;
  const Open open_;
  Mutex mutex_;
  std::map<Placement, std::unique_ptr<Device>> opened_ FERRY_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_DEVICE_H_
