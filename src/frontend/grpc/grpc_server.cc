#include "frontend/grpc/grpc_server.h"

#include <absl/synchronization/mutex.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <thread>
#include <vector>

#include "base/strings.h"
#include "frontend/grpc/control_service.h"
#include "frontend/grpc/health_service.h"
#include "frontend/grpc/infer_call.h"
#include "frontend/grpc/infer_stream.h"

namespace ferry {

namespace {

constexpr char kService[] = "inference.GRPCInferenceService";
constexpr std::string_view kModelInfer = "/inference.GRPCInferenceService/ModelInfer";
constexpr std::string_view kModelStreamInfer = "/inference.GRPCInferenceService/ModelStreamInfer";
constexpr std::string_view kHealthWatch = "/grpc.health.v1.Health/Watch";
// Calls that each queue is ready to take at once; gRPC holds back what comes beyond until one of these has its headers.
constexpr int kAcceptingCalls = 32;
// Of one connection. Bounds what gRPC buffers for a client that sends without end; the rest waits in the client.
constexpr int kMaxStreams = 1024;

void SetTransportOptions(const GrpcServer::Options& options, grpc::ServerBuilder* builder) {
  // With SO_REUSEPORT a second server on the port would start and silently take half the traffic.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  // Clients may ping every 10 s with or without calls; gRPC's default of 5 min answers them with GOAWAY. The server
  // pings as well, so that connections of vanished clients end.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 9'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder->SetMaxReceiveMessageSize(options.max_message_bytes);
  builder->SetMaxSendMessageSize(-1);  // BuildInferResponse() has the limit
}

void RunEvents(grpc::ServerCompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<CallEvent*>(tag)->Run(ok);
}

}  // namespace

struct GrpcServer::Parts {
  Parts(Options o, const ModelRepository& repository, Admission& admission_, OutputMemory& outputs, Clock& clock)
      : options(std::move(o)),
        admission(admission_),
        control({options.server_id, options.strict_readiness}, repository, admission),
        infer(repository, outputs, clock),
        serve([this](std::unique_ptr<GrpcCall> call) { Serve(std::move(call)); }) {}

  void Serve(std::unique_ptr<GrpcCall> call) {
    const std::string& method = call->context.method();
    if (method == kModelInfer) return InferCall::Serve(infer, admission, std::move(call));
    if (method == kModelStreamInfer) return InferStream::Serve(infer, admission, std::move(call));
    if (method == kHealthWatch) return health.ServeWatch(std::move(call));
    const Status unknown = UnimplementedError(StrCat("method ", Quoted(method), " does not exist"));
    InferCall::Refuse(infer, admission, std::move(call), unknown);
  }

  const Options options;
  Admission& admission;
  // Held from the look at the state to the setting of the status, so that no older look wins.
  Mutex serving_mutex;
  ControlService control;
  grpc::AsyncGenericService generic;
  InferService infer;
  HealthService health;
  const ServeCall serve;
  int port = 0;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  std::unique_ptr<grpc::Server> server;
  std::vector<std::thread> threads;
};

GrpcServer::GrpcServer(Options options, const ModelRepository& repository, Admission& admission, OutputMemory& outputs,
                       Clock& clock)
    : parts_(std::make_unique<Parts>(std::move(options), repository, admission, outputs, clock)) {}

GrpcServer::~GrpcServer() { Stop(Duration::zero()); }

Status GrpcServer::Start() {
  Parts& parts = *parts_;
  // Debian's Abseil, which gRPC locks with, looks for deadlocks at each lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Protobuf writes a line for each string that is not UTF-8. The client is told, and that is enough.
  google::protobuf::SetLogHandler(nullptr);
  grpc::EnableDefaultHealthCheckService(false);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetTransportOptions(parts.options, &builder);
  const bool bare_ipv6 = parts.options.address.find(':') != std::string::npos && parts.options.address.front() != '[';
  const std::string host = bare_ipv6 ? StrCat("[", parts.options.address, "]") : parts.options.address;
  const std::string address = StrCat(host, ":", parts.options.port);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &parts.port);
  builder.RegisterService(&parts.control);
  builder.RegisterService(&parts.health);
  builder.RegisterAsyncGenericService(&parts.generic);
  for (int i = 0; i < parts.options.infer_threads; ++i) parts.queues.push_back(builder.AddCompletionQueue());
  parts.server = builder.BuildAndStart();
  if (!parts.server || parts.port == 0) {
    return UnavailableError(StrCat("cannot listen on ", address, " for gRPC; is the port in use?"));
  }
  UpdateServing();
  for (const auto& queue : parts.queues) {
    for (int i = 0; i < kAcceptingCalls; ++i) AcceptCalls(parts.generic, queue.get(), parts.serve);
    parts.threads.emplace_back(RunEvents, queue.get());
  }
  return Status();
}

int GrpcServer::port() const { return parts_->port; }

void GrpcServer::SetModelServing(const std::string& model, bool serving) {
  MutexLock lock(parts_->serving_mutex);
  parts_->health.Set(model, serving && !parts_->admission.closed());
}

void GrpcServer::UpdateServing() {
  MutexLock lock(parts_->serving_mutex);
  HealthService& health = parts_->health;
  if (parts_->admission.closed()) return health.SetAll(false);  // the server and every model
  const bool ready = parts_->control.Ready();
  health.Set("", ready);
  health.Set(kService, ready);
}

void GrpcServer::CloseCalls(Duration grace) {
  if (parts_->server) parts_->server->Shutdown(std::chrono::system_clock::now() + grace);
}

void GrpcServer::Stop(Duration grace) {
  Parts& parts = *parts_;
  CloseCalls(grace);
  // The server first, then its queues, then their events to the end.
  for (const auto& queue : parts.queues) queue->Shutdown();
  for (std::thread& thread : parts.threads) thread.join();
  if (parts.threads.empty()) {
    // Never started: the queues have no thread to drain them.
    for (const auto& queue : parts.queues) RunEvents(queue.get());
  }
  parts.threads.clear();
  parts.server.reset();
  parts.queues.clear();
}

}  // namespace ferry
