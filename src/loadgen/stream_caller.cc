#include "loadgen/stream_caller.h"

#include <grpcpp/generic/generic_stub.h>

#include <deque>

#include "base/strings.h"
#include "ferry/check.h"
#include "loadgen/request_data.h"
#include "loadgen/stream_answer.h"

namespace ferry {

namespace {

constexpr char kModelStreamInfer[] = "/inference.GRPCInferenceService/ModelStreamInfer";

// The request with its id.
grpc::ByteBuffer WithId(const grpc::ByteBuffer& message, uint64_t id) {
  std::vector<grpc::Slice> slices;
  FERRY_CHECK(message.Dump(&slices).ok(), "a message that was made here can be read");
  slices.emplace_back(IdPiece(id));
  return {slices.data(), slices.size()};
}

// Servers put the id in front of the message, which would make each a kind of its own.
std::string WithoutId(const StreamAnswer& answer) {
  const std::string prefix = StrCat("[request id: ", answer.id, "] ");
  return answer.error.starts_with(prefix) ? answer.error.substr(prefix.size()) : answer.error;
}

}  // namespace

struct StreamCaller::StreamEvent : Event {
  using Handler = void (Stream::*)(bool ok, const OnEnd& on_end);
  StreamEvent(Stream& of, Handler call) : stream(of), handler(call) {}
  void Happened(bool ok, const OnEnd& on_end) override;

  Stream& stream;
  const Handler handler;
};

// One stream, from its opening to its end. It deletes itself when the last of its events has happened.
//
// Its state is guarded by the caller's mutex; events happen on the thread of Next().
class StreamCaller::Stream {
 public:
  Stream(StreamCaller& caller, size_t channel) : caller_(caller), channel_(channel), stub_(caller.channels_[channel]) {
    for (const auto& [key, value] : caller.options_.metadata) context_.AddMetadata(key, value);
    call_ = stub_.PrepareCall(&context_, kModelStreamInfer, &caller.queue_);
    Expect(started_event_, [&](void* tag) { call_->StartCall(tag); });
  }

  void Send(const OutgoingRequest& request, uint64_t id) {
    const TimePoint now = std::chrono::steady_clock::now();
    waiting_.emplace(id, Waiting{{request.due, now, {}}, request.request});
    unsent_.push_back(WithId(request.message, id));
    WriteNext();
  }

  void Cancel() { context_.TryCancel(); }

  // Of one of its events.
  void Happened(StreamEvent::Handler handler, bool ok, const OnEnd& on_end) {
    (this->*handler)(ok, on_end);
    MutexLock lock(caller_.mutex_);
    if (--expected_ > 0) return;
    caller_.streams_.erase(this);
    delete this;
  }

 private:
  struct Waiting {
    CallTimes times;
    size_t request = 0;
  };

  template <typename Begin>
  void Expect(StreamEvent& event, Begin begin) {
    ++expected_;
    begin(static_cast<Event*>(&event));
  }

  void WriteNext() {
    if (!started_ || writing_ || broken_ || unsent_.empty()) return;
    writing_ = true;
    Expect(written_event_, [&](void* tag) { call_->Write(unsent_.front(), tag); });
  }

  // No request may come here any more.
  void Break() {
    if (broken_) return;
    broken_ = true;
    if (caller_.current_[channel_] == this) caller_.current_[channel_] = nullptr;
    Expect(finished_event_, [&](void* tag) { call_->Finish(&status_, tag); });
  }

  void Started(bool ok, const OnEnd& /*on_end*/) {
    MutexLock lock(caller_.mutex_);
    if (!ok) return Break();
    started_ = true;
    Expect(read_event_, [&](void* tag) { call_->Read(&answer_, tag); });
    WriteNext();
  }

  void Written(bool ok, const OnEnd& /*on_end*/) {
    MutexLock lock(caller_.mutex_);
    writing_ = false;
    unsent_.pop_front();
    if (ok) WriteNext();  // else the stream is over, which reading will tell
  }

  void Read(bool ok, const OnEnd& on_end) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (ok) {
      Answered(now, on_end);
      answer_.Clear();
    }
    MutexLock lock(caller_.mutex_);
    if (!ok) return Break();
    Expect(read_event_, [&](void* tag) { call_->Read(&answer_, tag); });
  }

  // The next answer may have been asked for by `on_end`, which sends: no lock is held then.
  void Answered(TimePoint now, const OnEnd& on_end) {
    const std::optional<StreamAnswer> head = ReadStreamAnswer(answer_);
    std::optional<Waiting> whose = TakeWaiting(head ? head->id : "");
    if (!whose) return;  // a second answer of a request, which has ended with its first
    whose->times.done = now;
    caller_.under_way_.fetch_sub(1, std::memory_order_relaxed);
    grpc::Status status;
    if (!head) status = {grpc::StatusCode::INTERNAL, "the stream's answer is not a ModelStreamInferResponse"};
    // Streams have no codes for one request.
    if (head && !head->error.empty()) status = {grpc::StatusCode::UNKNOWN, WithoutId(*head)};
    on_end({whose->times, whose->request, status, answer_});
  }

  std::optional<Waiting> TakeWaiting(const std::string& id) {
    MutexLock lock(caller_.mutex_);
    const auto found = id.empty() ? waiting_.begin() : waiting_.find(ParseNumber<uint64_t>(id).value_or(0));
    if (found == waiting_.end()) return std::nullopt;
    const Waiting taken = found->second;
    waiting_.erase(found);
    return taken;
  }

  void Finished(bool /*ok*/, const OnEnd& on_end) {
    std::map<uint64_t, Waiting> left;
    {
      MutexLock lock(caller_.mutex_);
      left = std::exchange(waiting_, {});
    }
    if (status_.ok()) status_ = {grpc::StatusCode::UNAVAILABLE, "the server ended the stream"};
    answer_.Clear();
    for (auto& [id, waiting] : left) {
      waiting.times.done = std::chrono::steady_clock::now();
      caller_.under_way_.fetch_sub(1, std::memory_order_relaxed);
      on_end({waiting.times, waiting.request, status_, answer_});
    }
  }

  StreamCaller& caller_;
  const size_t channel_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
  std::map<uint64_t, Waiting> waiting_;  // for an answer, by id: the oldest first
  std::deque<grpc::ByteBuffer> unsent_;  // the first of them is being written, if one is
  int expected_ = 0;                     // events
  bool started_ = false;
  bool writing_ = false;
  bool broken_ = false;
  StreamEvent started_event_{*this, &Stream::Started};
  StreamEvent written_event_{*this, &Stream::Written};
  StreamEvent read_event_{*this, &Stream::Read};
  StreamEvent finished_event_{*this, &Stream::Finished};
};

void StreamCaller::StreamEvent::Happened(bool ok, const OnEnd& on_end) { stream.Happened(handler, ok, on_end); }

StreamCaller::StreamCaller(const ConnectionOptions& options)
    : InferCaller(options), current_(static_cast<size_t>(options.channels)) {}

StreamCaller::~StreamCaller() {
  FERRY_CHECK(under_way() == 0, "each request has ended");
  CancelAll();
  const auto open = [this] {
    MutexLock lock(mutex_);
    return !streams_.empty();
  };
  while (open()) NextEvent(kNever, [](const EndedRequest&) {});
  Drain();
}

void StreamCaller::Start(const OutgoingRequest& request) {
  under_way_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  const size_t channel = turn_.fetch_add(1, std::memory_order_relaxed) % current_.size();
  Stream*& stream = current_[channel];
  if (stream == nullptr) {
    stream = new Stream(*this, channel);  // until its end
    streams_.insert(stream);
  }
  stream->Send(request, ++last_id_);
}

void StreamCaller::CancelAll() {
  MutexLock lock(mutex_);
  for (Stream* stream : streams_) stream->Cancel();
}

}  // namespace ferry
