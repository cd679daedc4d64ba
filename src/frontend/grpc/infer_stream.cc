#include "frontend/grpc/infer_stream.h"

#include <algorithm>

#include "frontend/grpc/grpc_status.h"
#include "frontend/grpc/infer_response.h"

namespace ferry {

namespace {

bool WantsErrorsToEndIt(const grpc::GenericServerContext& context) {
  const auto [first, last] = context.client_metadata().equal_range("triton_grpc_error");
  return std::any_of(first, last, [](const auto& entry) { return entry.second == "true"; });
}

}  // namespace

InferStream::InferStream(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call)
    : service_(service),
      admission_(admission),
      call_(std::move(call)),
      errors_end_it_(WantsErrorsToEndIt(call_->context)) {
  call_->done.Set<&InferStream::OnDone>(this);
  references_ = 1;
}

void InferStream::Serve(InferService& service, Admission& admission, std::unique_ptr<GrpcCall> call) {
  auto* stream = new InferStream(service, admission, std::move(call));
  MutexLock lock(stream->mutex_);
  stream->ReadNext();
}

void InferStream::OnRead(bool ok) {
  if (ok) TakeMessage();
  Requests settled;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    read_all_ = read_all_ || !ok;
    settled = Proceed();
  }
  Release();
}

void InferStream::TakeMessage() {
  Open* open = nullptr;
  {
    MutexLock lock(mutex_);
    if (finished_) return message_.Clear();
    open = open_.emplace_back(std::make_unique<Open>()).get();
  }
  ++references_;
  Clock& clock = service_.clock();
  const auto bytes = static_cast<int64_t>(message_.Length());
  Status admitted = admission_.BeginCall();
  if (admitted.ok()) admitted = admission_.TakeMessage(bytes);
  open->admitted = admitted.ok();
  open->bytes = bytes;
  const InferJob job{&message_,          clock.Now(),        call_->Deadline(clock), reinterpret_cast<uintptr_t>(open),
                     &given_up_,
                     /*in_stream=*/true, std::move(admitted)};
  const auto submitted = [&](const ModelHandle& model) {
    MutexLock lock(mutex_);
    open->model = model;
  };
  service_.Submit(job, submitted, [this, open](InferAnswer answer) { Answered(*open, std::move(answer)); });
}

void InferStream::Answered(Open& open, InferAnswer answer) {
  Requests settled;
  {
    MutexLock lock(mutex_);
    open.answer = std::move(answer);
    settled = Proceed();
  }
  Release();
}

void InferStream::OnWritten(bool ok) {
  Requests settled;
  {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok && open_.front()->model) open_.front()->model->statistics().RecordDroppedReply();
    settled.push_back(std::move(open_.front()));
    open_.pop_front();
    Leave(*settled.front());
    std::ranges::move(Proceed(), std::back_inserter(settled));
  }
  Release();
}

// Where an error ended the call there may be requests left, which nobody waits for.
void InferStream::OnFinished(bool) {
  GiveUp();
  Release();
}

void InferStream::OnDone(bool) {
  if (call_->context.IsCancelled()) GiveUp();
  Requests settled;
  {
    MutexLock lock(mutex_);
    settled = Proceed();
  }
  Release();
}

// Cancelling completes what still waits, on this thread and without the lock.
void InferStream::GiveUp() {
  given_up_ = true;
  std::vector<std::pair<ModelHandle, uint64_t>> waiting;
  {
    MutexLock lock(mutex_);
    for (const auto& open : open_) {
      if (open->model && !open->answer) waiting.emplace_back(open->model, reinterpret_cast<uintptr_t>(open.get()));
    }
  }
  for (const auto& [model, ticket] : waiting) model->Cancel(ticket);
}

InferStream::Requests InferStream::Proceed() {
  WriteNext();
  Requests settled;
  if ((finished_ || given_up_) && !writing_) {
    for (auto& open : open_) {
      if (!open->answer) continue;
      Leave(*open);
      settled.push_back(std::move(open));
    }
    std::erase(open_, nullptr);
  }
  if (read_all_ && open_.empty() && !writing_ && !finished_) Finish(Status());
  if (!reading_ && !read_all_ && !finished_ && open_.size() < kMostOpen) ReadNext();
  return settled;
}

void InferStream::ReadNext() {
  reading_ = true;
  ++references_;
  read_.Set<&InferStream::OnRead>(this);
  call_->stream.Read(&message_, &read_);
}

void InferStream::WriteNext() {
  if (writing_ || finished_ || given_up_ || open_.empty() || !open_.front()->answer) return;
  const InferAnswer& answer = *open_.front()->answer;
  const Status& status = answer.bytes.status();
  if (!status.ok() && errors_end_it_) return Finish(status);
  writing_ = true;
  ++references_;
  call_->operation.Set<&InferStream::OnWritten>(this);
  const grpc::ByteBuffer bytes =
      status.ok() ? *answer.bytes : BuildStreamError(answer.model, answer.id, status.message());
  call_->stream.Write(bytes, &call_->operation);
}

void InferStream::Finish(const Status& status) {
  finished_ = true;
  given_up_ = true;  // nobody waits for what is still open
  ++references_;
  call_->operation.Set<&InferStream::OnFinished>(this);
  call_->stream.Finish(ToGrpc(status), &call_->operation);
}

void InferStream::Leave(const Open& open) {
  if (open.admitted) admission_.Leave(open.bytes);
}

void InferStream::Release() {
  if (references_.fetch_sub(1) == 1) delete this;
}

}  // namespace ferry
