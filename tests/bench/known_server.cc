// A server whose capacity is known, to try ferry-bench on: requests wait in one queue in the order in which they come, and a
// worker takes up to ROWS of them at a time, for exactly TIME each time. Prints its port. Model `known`, INPUT__0 FP32 [-1,4].
//
//   known_server MICROSECONDS [ROWS]
//
// Times are computed, not measured: while requests wait, a batch begins when the one before ends by the schedule, however late
// the worker woke up. So N rows and a time of T make N / T requests a second, and one row an M/D/1 queue.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "grpc_service.pb.h"

namespace {

using Clock = std::chrono::steady_clock;

// Its events come one after the other: the call, its message, the end of its answer.
struct Call {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  grpc::ByteBuffer message;
  Clock::time_point arrived;
  int events = 0;
};

grpc::ByteBuffer Bytes(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

grpc::ByteBuffer MetadataAnswer() {
  inference::ModelMetadataResponse metadata;
  metadata.set_name("known");
  metadata.add_versions("1");
  auto& input = *metadata.add_inputs();
  input.set_name("INPUT__0");
  input.set_datatype("FP32");
  input.add_shape(-1);
  input.add_shape(4);
  return Bytes(metadata);
}

grpc::ByteBuffer ReadyAnswer() {
  inference::ModelReadyResponse ready;
  ready.set_ready(true);
  return Bytes(ready);
}

grpc::ByteBuffer InferAnswer() {
  inference::ModelInferResponse answer;
  answer.set_model_name("known");
  return Bytes(answer);
}

class KnownServer {
 public:
  KnownServer(Clock::duration time, size_t rows) : time_(time), rows_(rows) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
  }

  int port() const { return port_; }

  [[noreturn]] void Run() {
    std::thread worker([this] { Work(); });
    Await();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) Happened(static_cast<Call*>(tag), ok);
    std::abort();
  }

 private:
  void Await() {
    auto* call = new Call;  // until its last event
    service_.RequestCall(&call->context, &call->stream, queue_.get(), queue_.get(), call);
  }

  void Happened(Call* call, bool ok) {
    ++call->events;
    if (call->events == 1) {
      Await();
      call->stream.Read(&call->message, call);
    } else if (!ok || call->events == 3) {
      delete call;
    } else {
      Answer(call);
    }
  }

  void Answer(Call* call) {
    const std::string& method = call->context.method();
    if (method.ends_with("/ModelInfer")) {
      call->arrived = Clock::now();
      const std::lock_guard lock(mutex_);
      waiting_.push_back(call);
      changed_.notify_one();
    } else if (method.ends_with("/ModelReady")) {
      call->stream.WriteAndFinish(ready_, {}, grpc::Status::OK, call);
    } else if (method.ends_with("/ModelMetadata")) {
      call->stream.WriteAndFinish(metadata_, {}, grpc::Status::OK, call);
    } else {
      call->stream.Finish({grpc::StatusCode::UNIMPLEMENTED, "not here"}, call);
    }
  }

  // The requests that were there when the batch began, and when it ends.
  std::vector<Call*> NextBatch(Clock::time_point& end) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    const Clock::time_point begin = std::max(end, waiting_.front()->arrived);
    end = begin + time_;
    std::vector<Call*> batch;
    while (!waiting_.empty() && batch.size() < rows_ && waiting_.front()->arrived <= begin) {
      batch.push_back(waiting_.front());
      waiting_.pop_front();
    }
    return batch;
  }

  void Work() {
    for (Clock::time_point end;;) {
      const std::vector<Call*> batch = NextBatch(end);
      std::this_thread::sleep_until(end);
      for (Call* call : batch) call->stream.WriteAndFinish(answer_, {}, grpc::Status::OK, call);
    }
  }

  const Clock::duration time_;
  const size_t rows_;
  const grpc::ByteBuffer ready_ = ReadyAnswer(), metadata_ = MetadataAnswer(), answer_ = InferAnswer();
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call*> waiting_;
};

}  // namespace

int main(int argc, char** argv) {
  const long time = argc > 1 ? std::atol(argv[1]) : 0;
  const long rows = argc > 2 ? std::atol(argv[2]) : 1;
  if (time <= 0 || rows <= 0) {
    std::fputs("usage: known_server MICROSECONDS [ROWS]\n", stderr);
    return 2;
  }
  KnownServer server(std::chrono::microseconds(time), static_cast<size_t>(rows));
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  server.Run();
}
