#ifndef FERRY_TESTS_SUPPORT_FAKE_DEVICE_H_
#define FERRY_TESTS_SUPPORT_FAKE_DEVICE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ferry/device.h"
#include "ferry/mutex.h"

namespace ferry {

// What can be made to fail. Calls return the failure at once; work begins, and has failed when it is finished.
enum class FakeStep {
  // Calls
  kAllocateHost,
  kAllocateDevice,
  kCreateStream,
  kCreateEvent,
  kBeginCopyToDevice,
  kBeginCopyToHost,
  kRecord,
  kWaitFor,
  // Work
  kCopyToDevice,
  kCopyToHost,
  kLaunch,
};

// A Device with memory of its own whose work is done late, in the order that the test chooses. Copies and launched
// functions are pending until the test finishes them, stream by stream, and read and write only then. Events and waits
// take no time of their own: they are done when everything before them is. Memory is given out full of kUnwritten.
//
// A fault of the code under test is a failure of the running test, and the call returns INTERNAL: a copy from or to
// memory that is not the device's, or was given back before the copy was done; an event or stream of another device; a
// device that goes before what it has given out. A fake framework takes its memory from AllocateDevice() too.
//
// Threading: thread-safe, and so are its streams and events.
class FakeDevice final : public Device {
 public:
  static constexpr std::byte kUnwritten{0xdb};

  explicit FakeDevice(std::string name = "fake:0");
  ~FakeDevice() override;

  const std::string& name() const override { return name_; }
  bool SharesHostMemory() const override { return false; }
  Result<MemoryBlock> AllocateHost(size_t bytes) override;
  Result<MemoryBlock> AllocateDevice(size_t bytes) override;
  Result<std::unique_ptr<DeviceStream>> CreateStream() override;
  Result<std::unique_ptr<DeviceEvent>> CreateEvent() override;
  Status CheckHealth() override;

  // Puts `work` into a stream of a FakeDevice, as a framework puts a model's kernels there. It is called by whoever
  // finishes it, must not call the device, and may return why it failed.
  static Status Launch(DeviceStream& stream, std::function<Status()> work);

  // Streams have numbers in the order of their creation, from 0.

  // What the stream has not done yet, the oldest first: "copy to device", "copy to host", "launch", "record", "wait".
  std::vector<std::string> Pending(size_t stream) const;

  // Waits until that many are pending, or the device is dead; so does FinishNext().
  void BlockUntilPending(size_t stream, size_t count);

  // Does the oldest pending copy or launch of the stream; waits until there is one that may be done.
  void FinishNext(size_t stream);

  // Does everything that is pending, and from now on all work as soon as it may be done.
  void RunFreely();

  // The next such step fails with `status`, after `successes` others of its kind.
  void FailNext(FakeStep step, Status status, int successes = 0);

  // The device is dead from now on: what is pending is never done, and every call and wait returns UNAVAILABLE.
  void Die(const std::string& reason);

  size_t blocks_given() const;
  size_t blocks_returned() const;

 private:
  class Event;
  class Stream;
  enum class Memory { kHost, kDevice };
  enum class Kind { kCopyToDevice, kCopyToHost, kLaunch, kRecord, kWait };
  // Recordings have numbers from 1. Guarded by mutex_.
  struct EventState {
    uint64_t recorded = 0;
    uint64_t done = 0;
    Status status;  // of the last that is done
  };
  struct Operation {
    Kind kind{};
    std::byte* to = nullptr;
    Bytes from{};
    std::function<Status()> work{};
    std::shared_ptr<EventState> event{};
    uint64_t recording = 0;
    Status failure{};
  };
  struct StreamState {
    std::deque<Operation> pending;
    Status failure;  // of the work since the last record
  };
  struct Failure {
    FakeStep step;
    Status status;
    int successes;
  };
  using Blocks = std::map<const std::byte*, size_t>;

  // OK, or why this step fails now.
  Status Attempt(FakeStep step) FERRY_REQUIRES(mutex_);
  Result<MemoryBlock> Allocate(Memory memory, FakeStep step, size_t bytes);
  void Free(Memory memory, std::byte* block);
  Blocks& BlocksOf(Memory memory) FERRY_REQUIRES(mutex_) {
    return memory == Memory::kHost ? host_blocks_ : device_blocks_;
  }
  bool Holds(Memory memory, Bytes bytes) FERRY_REQUIRES(mutex_);

  Status BeginCopy(size_t stream, Kind kind, std::byte* to, Bytes from);
  Status BeginLaunch(size_t stream, std::function<Status()> work);
  Status Record(size_t stream, DeviceEvent& event);
  Status WaitFor(size_t stream, const DeviceEvent& event);
  // The state of one of this device's events; null, and the test fails, for any other.
  std::shared_ptr<EventState> StateOf(const DeviceEvent& event);
  Status WaitForStream(size_t stream);
  Status WaitForEvent(const std::shared_ptr<EventState>& event);

  void Begin(size_t stream, Operation operation) FERRY_REQUIRES(mutex_);
  // Whether the oldest operation of the stream may be done now.
  bool MayFinish(const StreamState& stream) const FERRY_REQUIRES(mutex_);
  static bool TakesTime(Kind kind) { return kind != Kind::kRecord && kind != Kind::kWait; }
  void FinishOldest(StreamState& stream) FERRY_REQUIRES(mutex_);
  Status Do(Operation& operation) FERRY_REQUIRES(mutex_);
  // Does what takes no time, or everything when running freely, as far as that goes.
  void Settle() FERRY_REQUIRES(mutex_);

  const std::string name_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::unique_ptr<StreamState>> streams_ FERRY_GUARDED_BY(mutex_);
  Blocks host_blocks_ FERRY_GUARDED_BY(mutex_);
  Blocks device_blocks_ FERRY_GUARDED_BY(mutex_);
  size_t blocks_given_ FERRY_GUARDED_BY(mutex_) = 0;
  size_t living_streams_and_events_ FERRY_GUARDED_BY(mutex_) = 0;
  std::vector<Failure> failures_ FERRY_GUARDED_BY(mutex_);
  bool runs_freely_ FERRY_GUARDED_BY(mutex_) = false;
  Status death_ FERRY_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_FAKE_DEVICE_H_
