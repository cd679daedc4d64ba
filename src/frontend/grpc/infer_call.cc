#include "frontend/grpc/infer_call.h"

#include "base/strings.h"
#include "frontend/classification.h"
#include "frontend/grpc/grpc_status.h"
#include "frontend/grpc/infer_message.h"
#include "frontend/grpc/infer_response.h"
#include "frontend/request_validator.h"

namespace ferry {

namespace {

constexpr std::string_view kModelInfer = "/inference.GRPCInferenceService/ModelInfer";

Status ShuttingDown() { return UnavailableError("the server is shutting down"); }

// As in Triton, the message of an error says whose it is.
std::string RequestPrefix(std::string_view id) {
  return StrCat("[request id: ", id.empty() ? "<id_unknown>" : Printable(id), "] ");
}

// What an answer needs of its call, besides the tensors.
struct AnswerPlan {
  ModelHandle model;
  std::string id;
  std::vector<int> outputs;
  std::vector<int64_t> top_classes;
};

Result<grpc::ByteBuffer> BuildAnswer(const AnswerPlan& plan, InferResponse response) {
  const ModelConfig& config = plan.model->config();
  ResponseHeader header{config.name, plan.model->version(), plan.id, {}};
  for (size_t i = 0; i < response.outputs.size(); ++i) {
    const TensorConfig& output = config.outputs[static_cast<size_t>(plan.outputs[i])];
    header.output_names.push_back(output.name);
    if (plan.top_classes[i] == 0) continue;
    Result<Tensor> classes = Classify(output, config.batches(), response.outputs[i], plan.top_classes[i]);
    if (!classes.ok()) return classes.status();
    response.outputs[i] = std::move(classes).value();
  }
  return BuildInferResponse(header, response.outputs);
}

}  // namespace

InferCall::InferCall(const InferCallEnvironment& environment, grpc::ServerCompletionQueue* queue)
    : environment_(environment), queue_(queue) {}

void InferCall::Accept(const InferCallEnvironment& environment, grpc::ServerCompletionQueue* queue) {
  auto* call = new InferCall(environment, queue);
  call->context_.AsyncNotifyWhenDone(&call->done_);
  environment.service.RequestCall(&call->context_, &call->stream_, queue, queue, &call->operation_);
}

void InferCall::OnHeaders(bool ok) {
  if (!ok) {
    // The server is shutting down and no call came; in this case alone there will be no OnDone().
    delete this;
    return;
  }
  Accept(environment_, queue_);
  if (context_.method() != kModelInfer) {
    return Fail(UnimplementedError(StrCat("method ", Quoted(context_.method()), " does not exist")));
  }
  // A body that would be refused is not even read.
  if (environment_.admission.RefuseEarly()) return Fail(ShuttingDown());
  operation_.handle = &InferCall::OnBody;
  stream_.Read(&body_, &operation_);
}

void InferCall::OnBody(bool ok) {
  if (!ok) return Fail(CancelledError("the call ended before its message was complete"));
  // Only now is the call accepted: a client that never sends its body must not hold up a stop.
  admitted_ = environment_.admission.TryEnter();
  if (!admitted_) return Fail(ShuttingDown());
  arrival_ = environment_.clock.Now();
  if (const Status status = Submit(); !status.ok()) Fail(status);
}

Status InferCall::Submit() {
  message_bytes_ = static_cast<int64_t>(body_.Length());
  Result<std::shared_ptr<InferMessage>> message = InferMessage::Parse(&body_);
  if (!message.ok()) return message.status();
  Result<ModelHandle> model =
      environment_.repository.Find(std::string((*message)->model_name()), (*message)->model_version());
  if (!model.ok()) return model.status();
  Result<ValidRequest> valid = ValidateRequest((*model)->config(), (*message)->ToWire());
  if (!valid.ok()) {
    (*model)->statistics().RecordFailure(Failure::kBadRequest, environment_.clock.Now() - arrival_);
    return valid.status().WithPrefix(RequestPrefix((*message)->id()));
  }
  if (given_up_) {  // while its body was on the way
    (*model)->statistics().RecordFailure(Failure::kCancelled, environment_.clock.Now() - arrival_);
    return CancelledError("the client gave the request up");
  }
  SubmitTo(*model, *std::move(message), *std::move(valid));
  return Status();
}

void InferCall::SubmitTo(const ModelHandle& model, std::shared_ptr<InferMessage> message, ValidRequest valid) {
  AnswerPlan plan{model, std::string(message->id()), valid.outputs, std::move(valid.top_classes)};
  auto request = std::make_unique<InferRequest>([this, plan = std::move(plan)](Result<InferResponse> result) {
    if (!result.ok()) return Fail(result.status().WithPrefix(RequestPrefix(plan.id)));
    if (given_up_) {
      plan.model->statistics().RecordDroppedReply();
      return Fail(CancelledError("the client gave the request up"));
    }
    Result<grpc::ByteBuffer> response = BuildAnswer(plan, std::move(result).value());
    if (!response.ok()) return Fail(response.status().WithPrefix(RequestPrefix(plan.id)));
    Answer(*response);
  });
  request->inputs = std::move(valid.inputs);
  request->input_owner = std::move(message);
  request->outputs = std::move(valid.outputs);
  request->rows = valid.rows;
  request->input_bytes = message_bytes_;
  request->arrival = arrival_;
  request->deadline = Deadline();
  request->priority = valid.queue.priority;
  request->timeout = valid.queue.timeout;
  request->ticket = Ticket();
  model_ = model;
  model->Submit(std::move(request));
}

TimePoint InferCall::Deadline() const {
  constexpr int64_t kLongestSeconds = 365 * 86400;
  const gpr_timespec left =
      gpr_time_sub(gpr_convert_clock_type(context_.raw_deadline(), GPR_CLOCK_MONOTONIC), gpr_now(GPR_CLOCK_MONOTONIC));
  if (left.tv_sec > kLongestSeconds) return kNever;
  return environment_.clock.Now() + std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

// Once the operation below is started the call may be deleted by the queue's thread at any moment.
void InferCall::Answer(const grpc::ByteBuffer& response) {
  answered_ = true;
  operation_.handle = &InferCall::OnSent;
  stream_.WriteAndFinish(response, grpc::WriteOptions(), grpc::Status::OK, &operation_);
}

void InferCall::Fail(const Status& status) {
  operation_.handle = &InferCall::OnSent;
  stream_.Finish(ToGrpc(status), &operation_);
}

// `ok` is false when the client is gone, which changes nothing any more.
void InferCall::OnSent(bool ok) {
  if (answered_ && !ok) model_->statistics().RecordDroppedReply();
  if (admitted_) environment_.admission.Leave();
  Release();
}

void InferCall::OnDone(bool) {
  if (context_.IsCancelled()) {
    given_up_ = true;
    if (model_) model_->Cancel(Ticket());
  }
  Release();
}

void InferCall::Release() {
  if (outstanding_.fetch_sub(1) == 1) delete this;
}

}  // namespace ferry
