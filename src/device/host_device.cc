#include <cstring>
#include <new>

#include "base/strings.h"
#include "ferry/device.h"

namespace ferry {

namespace {

// A cache line, and what vector instructions and oneDNN like.
constexpr std::align_val_t kAlignment{64};

Result<MemoryBlock> AllocateAligned(size_t bytes) {
  void* memory = ::operator new(bytes, kAlignment, std::nothrow);
  if (memory == nullptr) return ResourceExhaustedError(StrCat("no host memory for ", bytes, " bytes"));
  return MemoryBlock(static_cast<std::byte*>(memory), [](std::byte* block) { ::operator delete(block, kAlignment); });
}

class HostEvent final : public DeviceEvent {
 public:
  Status Wait() override { return Status(); }
};

// All work is done when it has begun.
class HostStream final : public DeviceStream {
 public:
  Status CopyToDevice(std::byte* to, Bytes from) override { return Copy(to, from); }
  Status CopyToHost(std::byte* to, Bytes from) override { return Copy(to, from); }
  Status Record(DeviceEvent&) override { return Status(); }
  Status WaitFor(const DeviceEvent&) override { return Status(); }
  Status Wait() override { return Status(); }
  void* native_handle() override { return nullptr; }

 private:
  static Status Copy(std::byte* to, Bytes from) {
    if (to != from.data() && !from.empty()) std::memcpy(to, from.data(), from.size());
    return Status();
  }
};

class HostDevice final : public Device {
 public:
  const std::string& name() const override { return name_; }
  bool SharesHostMemory() const override { return true; }
  Result<MemoryBlock> AllocateHost(size_t bytes) override { return AllocateAligned(bytes); }
  Result<MemoryBlock> AllocateDevice(size_t bytes) override { return AllocateAligned(bytes); }
  Result<std::unique_ptr<DeviceStream>> CreateStream() override {
    return std::unique_ptr<DeviceStream>(std::make_unique<HostStream>());
  }
  Result<std::unique_ptr<DeviceEvent>> CreateEvent() override {
    return std::unique_ptr<DeviceEvent>(std::make_unique<HostEvent>());
  }
  Status CheckHealth() override { return Status(); }

 private:
  const std::string name_ = "cpu";
};

}  // namespace

std::unique_ptr<Device> MakeHostDevice() { return std::make_unique<HostDevice>(); }

}  // namespace ferry
