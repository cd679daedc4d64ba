#ifndef FERRY_FRONTEND_GRPC_INFER_SERVICE_H_
#define FERRY_FRONTEND_GRPC_INFER_SERVICE_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <functional>
#include <string>

#include "execution/output_memory.h"
#include "ferry/clock.h"
#include "ferry/model_repository.h"
#include "frontend/admission.h"

namespace ferry {

class InferMessage;

// One ModelInferRequest on its way through the server, whichever call brought it.
struct InferJob {
  grpc::ByteBuffer* body;  // its bytes, which are taken
  TimePoint arrival;
  TimePoint deadline = kNever;
  uint64_t ticket = 0;                          // by which the request can be cancelled while it waits
  const std::atomic<bool>* given_up = nullptr;  // set when nobody waits for the answer any more; outlives the job
  bool in_stream = false;                       // the answer is to be a ModelStreamInferResponse
  Status refusal;                               // why the admission did not let it in, if it did not
};

// What came of it: the bytes of the answer, or an error with the request's id.
struct InferAnswer {
  Result<grpc::ByteBuffer> bytes;
  std::string model;  // as the request named it; for errors that are answered in a stream
  std::string id;
};

// InferService takes requests through the server: parses, validates and submits them, and makes bytes of the answers.
//
// Guarantees: the completion of each job runs exactly once, on any thread, perhaps before Submit() returns.
// Threading:  thread-safe. Submit() never blocks.
// Ownership:  borrows what it is made of.
class InferService {
 public:
  using Done = std::function<void(InferAnswer)>;

  InferService(const ModelRepository& repository, OutputMemory& outputs, Clock& clock)
      : repository_(repository), outputs_(outputs), clock_(clock) {}

  // `submitted` is called with the model when the request is about to be submitted to it, before `done` can run.
  void Submit(const InferJob& job, const std::function<void(const ModelHandle&)>& submitted, Done done);

  Clock& clock() const { return clock_; }

 private:
  struct Prepared;

  // Finds the model and checks the request against it; what fails is counted and says whose it is.
  Result<Prepared> Prepare(const InferJob& job, InferMessage& message) const;

  const ModelRepository& repository_;
  OutputMemory& outputs_;
  Clock& clock_;
};

}  // namespace ferry

#endif  // FERRY_FRONTEND_GRPC_INFER_SERVICE_H_
