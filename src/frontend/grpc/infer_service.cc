#include "frontend/grpc/infer_service.h"

#include "base/strings.h"
#include "frontend/classification.h"
#include "frontend/grpc/infer_message.h"
#include "frontend/grpc/infer_response.h"
#include "frontend/request_validator.h"

namespace ferry {

namespace {

// As in Triton, the message of an error says whose it is.
std::string RequestPrefix(std::string_view id) {
  return StrCat("[request id: ", id.empty() ? "<id_unknown>" : Printable(id), "] ");
}

Status GivenUp() { return CancelledError("the client gave the request up"); }

// What an answer needs of its request, besides the tensors.
struct AnswerPlan {
  ModelHandle model;
  std::string id;
  std::vector<int> outputs;
  std::vector<int64_t> top_classes;
  bool in_stream = false;
};

Result<grpc::ByteBuffer> BuildAnswer(const AnswerPlan& plan, InferResponse response, const OutputMemory& memory) {
  const ModelConfig& config = plan.model->config();
  ResponseHeader header{config.name, plan.model->version(), plan.id, {}, plan.in_stream, memory.IsScarce()};
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

Result<grpc::ByteBuffer> BytesOf(const AnswerPlan& plan, Result<InferResponse> result, bool given_up,
                                 const OutputMemory& memory) {
  if (!result.ok()) return result.status().WithPrefix(RequestPrefix(plan.id));
  if (given_up) {
    plan.model->statistics().RecordDroppedReply();
    return GivenUp();
  }
  Result<grpc::ByteBuffer> bytes = BuildAnswer(plan, std::move(result).value(), memory);
  if (!bytes.ok()) return bytes.status().WithPrefix(RequestPrefix(plan.id));
  return bytes;
}

}  // namespace

// A request that may be submitted to its model.
struct InferService::Prepared {
  ModelHandle model;
  ValidRequest valid;
};

Result<InferService::Prepared> InferService::Prepare(const InferJob& job, InferMessage& message) const {
  if (!job.refusal.ok()) return job.refusal.WithPrefix(RequestPrefix(message.id()));
  const Result<ModelHandle> model = repository_.Find(std::string(message.model_name()), message.model_version());
  if (!model.ok()) return model.status();
  Result<ValidRequest> valid = ValidateRequest((*model)->config(), message.ToWire());
  if (!valid.ok()) {
    (*model)->statistics().RecordFailure(Failure::kBadRequest, clock_.Now() - job.arrival);
    return valid.status().WithPrefix(RequestPrefix(message.id()));
  }
  if (*job.given_up) {  // while its body was on the way
    (*model)->statistics().RecordFailure(Failure::kCancelled, clock_.Now() - job.arrival);
    return GivenUp();
  }
  return Prepared{*model, std::move(valid).value()};
}

void InferService::Submit(const InferJob& job, const std::function<void(const ModelHandle&)>& submitted, Done done) {
  const auto bytes = static_cast<int64_t>(job.body->Length());
  Result<std::shared_ptr<InferMessage>> parsed = InferMessage::Parse(job.body);
  if (!parsed.ok()) return done({parsed.status(), "", ""});
  const std::shared_ptr<InferMessage>& message = *parsed;
  Result<Prepared> prepared = Prepare(job, *message);
  if (!prepared.ok()) {
    return done({prepared.status(), std::string(message->model_name()), std::string(message->id())});
  }
  auto& [model, valid] = *prepared;
  AnswerPlan plan{model, std::string(message->id()), valid.outputs, std::move(valid.top_classes), job.in_stream};
  auto request = std::make_unique<InferRequest>([given_up = job.given_up, memory = &outputs_, plan = std::move(plan),
                                                 done = std::move(done)](Result<InferResponse> result) {
    done({BytesOf(plan, std::move(result), *given_up, *memory), plan.model->config().name, plan.id});
  });
  request->inputs = std::move(valid.inputs);
  request->input_owner = message;
  request->outputs = std::move(valid.outputs);
  request->rows = valid.rows;
  request->input_bytes = bytes;
  request->arrival = job.arrival;
  request->deadline = job.deadline;
  request->priority = valid.queue.priority;
  request->timeout = valid.queue.timeout;
  request->ticket = job.ticket;
  submitted(model);
  model->Submit(std::move(request));
}

}  // namespace ferry
