#include "loadgen/null_server.h"

#include <grpcpp/server_builder.h>

#include <string>

namespace ferry {

// Its events come one after the other: the call, its message, the end of its answer.
struct NullServer::Call {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  grpc::ByteBuffer message;
  int events = 0;
};

Result<std::unique_ptr<NullServer>> NullServer::Start(int64_t answer_bytes) {
  std::unique_ptr<NullServer> server(new NullServer(answer_bytes));
  if (server->server_ == nullptr) return UnavailableError("cannot open a port on 127.0.0.1");
  return server;
}

NullServer::NullServer(int64_t answer_bytes) {
  const grpc::Slice slice(std::string(static_cast<size_t>(answer_bytes), '\0'));
  answer_ = grpc::ByteBuffer(&slice, 1);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterAsyncGenericService(&service_);
  builder.SetMaxReceiveMessageSize(-1);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) thread_ = std::thread([this] { Serve(); });
}

NullServer::~NullServer() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  queue_->Shutdown();
  if (thread_.joinable()) thread_.join();
}

void NullServer::Serve() {
  const auto await = [this] {
    auto* call = new Call;
    service_.RequestCall(&call->context, &call->stream, queue_.get(), queue_.get(), call);
  };
  await();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    auto* const call = static_cast<Call*>(tag);
    ++call->events;
    if (!ok || call->events == 3) {
      delete call;
    } else if (call->events == 1) {
      await();
      call->stream.Read(&call->message, call);
    } else {
      call->stream.WriteAndFinish(answer_, grpc::WriteOptions(), grpc::Status::OK, call);
    }
  }
}

}  // namespace ferry
