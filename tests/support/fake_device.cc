#include "support/fake_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace ferry {

namespace {

constexpr std::align_val_t kAlignment{64};

bool Overlap(Bytes one, Bytes other) {
  return !other.empty() && one.data() < other.data() + other.size() && other.data() < one.data() + one.size();
}

// Fails the running test.
Status Fault(const std::string& message) {
  ADD_FAILURE() << message;
  return InternalError(message);
}

}  // namespace

class FakeDevice::Event final : public DeviceEvent {
 public:
  explicit Event(FakeDevice& device) : device_(device) {}
  ~Event() override {
    MutexLock lock(device_.mutex_);
    --device_.living_streams_and_events_;
  }

  Status Wait() override { return device_.WaitForEvent(state_); }

  FakeDevice& device() const { return device_; }
  const std::shared_ptr<EventState>& state() const { return state_; }

 private:
  FakeDevice& device_;
  const std::shared_ptr<EventState> state_ = std::make_shared<EventState>();
};

class FakeDevice::Stream final : public DeviceStream {
 public:
  Stream(FakeDevice& device, size_t number) : device_(device), number_(number) {}
  ~Stream() override {
    (void)Wait();
    MutexLock lock(device_.mutex_);
    --device_.living_streams_and_events_;
  }

  Status CopyToDevice(std::byte* to, Bytes from) override {
    return device_.BeginCopy(number_, Kind::kCopyToDevice, to, from);
  }
  Status CopyToHost(std::byte* to, Bytes from) override {
    return device_.BeginCopy(number_, Kind::kCopyToHost, to, from);
  }
  Status Record(DeviceEvent& event) override { return device_.Record(number_, event); }
  Status WaitFor(const DeviceEvent& event) override { return device_.WaitFor(number_, event); }
  Status Wait() override { return device_.WaitForStream(number_); }
  void* native_handle() override { return nullptr; }

  Status Launch(std::function<Status()> work) { return device_.BeginLaunch(number_, std::move(work)); }

 private:
  FakeDevice& device_;
  const size_t number_;
};

FakeDevice::FakeDevice(std::string name) : name_(std::move(name)) {}

FakeDevice::~FakeDevice() {
  MutexLock lock(mutex_);
  EXPECT_EQ(host_blocks_.size() + device_blocks_.size(), 0u) << name_ << ": memory was not given back";
  EXPECT_EQ(living_streams_and_events_, 0u) << name_ << ": streams or events outlive their device";
}

// What a device gives out.

Status FakeDevice::Attempt(FakeStep step) {
  if (!death_.ok()) return death_;
  const auto failure = std::ranges::find(failures_, step, &Failure::step);
  if (failure == failures_.end() || failure->successes-- > 0) return Status();
  Status status = std::move(failure->status);
  failures_.erase(failure);
  return status;
}

Result<MemoryBlock> FakeDevice::AllocateHost(size_t bytes) {
  return Allocate(Memory::kHost, FakeStep::kAllocateHost, bytes);
}

Result<MemoryBlock> FakeDevice::AllocateDevice(size_t bytes) {
  return Allocate(Memory::kDevice, FakeStep::kAllocateDevice, bytes);
}

Result<MemoryBlock> FakeDevice::Allocate(Memory memory, FakeStep step, size_t bytes) {
  MutexLock lock(mutex_);
  FERRY_RETURN_IF_ERROR(Attempt(step));
  auto* block = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  std::fill_n(block, bytes, kUnwritten);
  BlocksOf(memory)[block] = bytes;
  ++blocks_given_;
  return MemoryBlock(block, [this, memory](std::byte* given) { Free(memory, given); });
}

void FakeDevice::Free(Memory memory, std::byte* block) {
  MutexLock lock(mutex_);
  const Bytes bytes(block, BlocksOf(memory)[block]);
  for (const auto& stream : streams_) {
    for (Operation& operation : stream->pending) {
      if (!Overlap(bytes, operation.from) && !Overlap(bytes, {operation.to, operation.from.size()})) continue;
      operation.failure = Fault(name_ + ": memory was given back while a copy from or to it is pending");
    }
  }
  BlocksOf(memory).erase(block);
  ::operator delete(block, kAlignment);
}

bool FakeDevice::Holds(Memory memory, Bytes bytes) {
  const Blocks& blocks = BlocksOf(memory);
  auto block = blocks.upper_bound(bytes.data());
  if (block == blocks.begin()) return false;
  --block;
  return bytes.data() + bytes.size() <= block->first + block->second;
}

Result<std::unique_ptr<DeviceStream>> FakeDevice::CreateStream() {
  MutexLock lock(mutex_);
  FERRY_RETURN_IF_ERROR(Attempt(FakeStep::kCreateStream));
  streams_.push_back(std::make_unique<StreamState>());
  ++living_streams_and_events_;
  changed_.NotifyAll();
  return std::unique_ptr<DeviceStream>(std::make_unique<Stream>(*this, streams_.size() - 1));
}

Result<std::unique_ptr<DeviceEvent>> FakeDevice::CreateEvent() {
  MutexLock lock(mutex_);
  FERRY_RETURN_IF_ERROR(Attempt(FakeStep::kCreateEvent));
  ++living_streams_and_events_;
  return std::unique_ptr<DeviceEvent>(std::make_unique<Event>(*this));
}

Status FakeDevice::CheckHealth() {
  MutexLock lock(mutex_);
  return death_;
}

// What a stream begins.

Status FakeDevice::BeginCopy(size_t stream, Kind kind, std::byte* to, Bytes from) {
  const bool to_device = kind == Kind::kCopyToDevice;
  MutexLock lock(mutex_);
  FERRY_RETURN_IF_ERROR(Attempt(to_device ? FakeStep::kBeginCopyToDevice : FakeStep::kBeginCopyToHost));
  if (!Holds(to_device ? Memory::kHost : Memory::kDevice, from)) {
    return Fault(name_ + ": a copy from memory that is not the device's, or not of this kind");
  }
  if (!Holds(to_device ? Memory::kDevice : Memory::kHost, {to, from.size()})) {
    return Fault(name_ + ": a copy to memory that is not the device's, or not of this kind");
  }
  Operation copy{kind, to, from};
  copy.failure = Attempt(to_device ? FakeStep::kCopyToDevice : FakeStep::kCopyToHost);
  Begin(stream, std::move(copy));
  return Status();
}

Status FakeDevice::Launch(DeviceStream& stream, std::function<Status()> work) {
  auto* own = dynamic_cast<Stream*>(&stream);
  return own == nullptr ? Fault("a launch on a stream of another kind of device") : own->Launch(std::move(work));
}

Status FakeDevice::BeginLaunch(size_t stream, std::function<Status()> work) {
  MutexLock lock(mutex_);
  if (!death_.ok()) return death_;
  Operation launch{Kind::kLaunch};
  launch.work = std::move(work);
  launch.failure = Attempt(FakeStep::kLaunch);
  Begin(stream, std::move(launch));
  return Status();
}

std::shared_ptr<FakeDevice::EventState> FakeDevice::StateOf(const DeviceEvent& event) {
  const auto* own = dynamic_cast<const Event*>(&event);
  return own == nullptr || &own->device() != this ? nullptr : own->state();
}

Status FakeDevice::Record(size_t stream, DeviceEvent& event) {
  const std::shared_ptr<EventState> state = StateOf(event);
  if (!state) return Fault(name_ + ": an event of another device was to be recorded");
  MutexLock lock(mutex_);
  FERRY_RETURN_IF_ERROR(Attempt(FakeStep::kRecord));
  Operation record{Kind::kRecord};
  record.event = state;
  record.recording = ++state->recorded;
  Begin(stream, std::move(record));
  return Status();
}

Status FakeDevice::WaitFor(size_t stream, const DeviceEvent& event) {
  const std::shared_ptr<EventState> state = StateOf(event);
  if (!state) return Fault(name_ + ": a stream was to wait for an event of another device");
  MutexLock lock(mutex_);
  FERRY_RETURN_IF_ERROR(Attempt(FakeStep::kWaitFor));
  Operation wait{Kind::kWait};
  wait.event = state;
  wait.recording = state->recorded;
  Begin(stream, std::move(wait));
  return Status();
}

void FakeDevice::Begin(size_t stream, Operation operation) {
  streams_[stream]->pending.push_back(std::move(operation));
  Settle();
}

// How it is done.

bool FakeDevice::MayFinish(const StreamState& stream) const {
  if (stream.pending.empty()) return false;
  const Operation& oldest = stream.pending.front();
  return oldest.kind != Kind::kWait || oldest.event->done >= oldest.recording;
}

void FakeDevice::FinishOldest(StreamState& stream) {
  Operation operation = std::move(stream.pending.front());
  stream.pending.pop_front();
  Status status = Do(operation);
  if (stream.failure.ok()) stream.failure = std::move(status);
  if (operation.kind != Kind::kRecord) return;
  operation.event->status = std::exchange(stream.failure, Status());
  operation.event->done = std::max(operation.event->done, operation.recording);
}

Status FakeDevice::Do(Operation& operation) {
  if (!operation.failure.ok()) return operation.failure;
  if (operation.kind == Kind::kLaunch) return operation.work();
  if (operation.kind == Kind::kWait) return operation.event->status;
  if (operation.kind != Kind::kRecord && !operation.from.empty()) {
    std::memcpy(operation.to, operation.from.data(), operation.from.size());
  }
  return Status();
}

void FakeDevice::Settle() {
  // One stream's event may be what another waits for.
  for (bool again = true; again;) {
    again = false;
    for (const auto& stream : streams_) {
      while (MayFinish(*stream) && (runs_freely_ || !TakesTime(stream->pending.front().kind))) {
        FinishOldest(*stream);
        again = true;
      }
    }
  }
  changed_.NotifyAll();
}

Status FakeDevice::WaitForStream(size_t stream) {
  MutexLock lock(mutex_);
  while (death_.ok() && !streams_[stream]->pending.empty()) changed_.Wait(mutex_);
  return death_.ok() ? streams_[stream]->failure : death_;
}

Status FakeDevice::WaitForEvent(const std::shared_ptr<EventState>& event) {
  MutexLock lock(mutex_);
  const uint64_t recording = event->recorded;
  while (death_.ok() && event->done < recording) changed_.Wait(mutex_);
  return death_.ok() ? event->status : death_;
}

// What the test says.

std::vector<std::string> FakeDevice::Pending(size_t stream) const {
  static constexpr const char* kNames[] = {"copy to device", "copy to host", "launch", "record", "wait"};
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const Operation& operation : streams_.at(stream)->pending) {
    names.emplace_back(kNames[static_cast<int>(operation.kind)]);
  }
  return names;
}

void FakeDevice::BlockUntilPending(size_t stream, size_t count) {
  MutexLock lock(mutex_);
  while (death_.ok() && (streams_.size() <= stream || streams_[stream]->pending.size() < count)) changed_.Wait(mutex_);
}

void FakeDevice::FinishNext(size_t stream) {
  MutexLock lock(mutex_);
  while (death_.ok() && (streams_.size() <= stream || !MayFinish(*streams_[stream]))) changed_.Wait(mutex_);
  if (!death_.ok()) return;
  FinishOldest(*streams_[stream]);
  Settle();
}

void FakeDevice::RunFreely() {
  MutexLock lock(mutex_);
  runs_freely_ = true;
  Settle();
}

void FakeDevice::FailNext(FakeStep step, Status status, int successes) {
  MutexLock lock(mutex_);
  failures_.push_back({step, std::move(status), successes});
}

void FakeDevice::Die(const std::string& reason) {
  MutexLock lock(mutex_);
  death_ = UnavailableError(name_ + ": " + reason);
  for (const auto& stream : streams_) stream->pending.clear();
  changed_.NotifyAll();
}

size_t FakeDevice::blocks_given() const {
  MutexLock lock(mutex_);
  return blocks_given_;
}

size_t FakeDevice::blocks_returned() const {
  MutexLock lock(mutex_);
  return blocks_given_ - host_blocks_.size() - device_blocks_.size();
}

}  // namespace ferry
