// Answers ModelInfer with the bytes that came, on gRPC's callback API: what a call costs before a server does anything.
//
//   echo_server raw BYTES   answers with BYTES bytes, the request's own as far as they go; nothing is parsed
//   echo_server typed       parses the request and answers with a message that has the same tensor
//
// Prints the port that it listens on, a line, and runs until it is killed.

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "grpc_service.grpc.pb.h"

namespace {

using inference::GRPCInferenceService;

// No method is left to the synchronous API, which would poll the connections with threads of its own.
using RawService = GRPCInferenceService::WithRawCallbackMethod_ModelInfer<GRPCInferenceService::CallbackService>;

// The first `bytes` of the message; zeros follow where it has fewer. Shares the message's memory.
grpc::ByteBuffer Resized(const grpc::ByteBuffer& message, size_t bytes) {
  std::vector<grpc::Slice> slices;
  if (message.Length() == bytes || !message.Dump(&slices).ok()) return message;
  std::vector<grpc::Slice> kept;
  for (const grpc::Slice& slice : slices) {
    if (bytes == 0) break;
    kept.push_back(slice.size() <= bytes ? slice : slice.sub(0, bytes));
    bytes -= kept.back().size();
  }
  if (bytes > 0) kept.emplace_back(std::string(bytes, '\0'));
  return grpc::ByteBuffer(kept.data(), kept.size());
}

class RawEcho final : public RawService {
 public:
  explicit RawEcho(size_t bytes) : bytes_(bytes) {}

  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override {
    *response = Resized(*request, bytes_);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const size_t bytes_;
};

class TypedEcho final : public GRPCInferenceService::CallbackService {
 public:
  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const inference::ModelInferRequest* request,
                                       inference::ModelInferResponse* response) override {
    response->set_model_name(request->model_name());
    response->set_model_version("1");
    for (const auto& input : request->inputs()) {
      auto* output = response->add_outputs();
      output->set_name(input.name());
      output->set_datatype(input.datatype());
      *output->mutable_shape() = input.shape();
    }
    *response->mutable_raw_output_contents() = request->raw_input_contents();
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int Serve(grpc::Service* service) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  std::printf("%d\n", port);
  std::fflush(stdout);
  server->Wait();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "raw" && argc == 3) {
    RawEcho service(std::stoul(argv[2]));
    return Serve(&service);
  }
  if (kind == "typed" && argc == 2) {
    TypedEcho service;
    return Serve(&service);
  }
  std::fprintf(stderr, "Usage: echo_server raw BYTES | echo_server typed\n");
  return 2;
}
