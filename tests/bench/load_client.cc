// Sends one prepared message to ModelInfer, again and again, and says how it was answered.
//
//   load_client --target HOST:PORT --message FILE --concurrency 64 --seconds 3   a closed loop
//   load_client --target ... --message FILE --concurrency 1000 --requests 1000   a flood
//   load_client --target ... --message FILE --interval-us 5000 --requests 600    at an even rate, answered or not
//
// One thread, so that it shares a core with nobody of its own. Prints name and value, a line each; then for each kind
// of refusal "refusal CODE COUNT MESSAGE". A loop's rate counts from the answer that comes when every place in it has been
// answered once to the first answer after its time is up: a server's first and last batches are not full, and between
// the beginnings of two batches of answers there are whole ones.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr char kModelInfer[] = "/inference.GRPCInferenceService/ModelInfer";

struct Options {
  std::string target;
  std::string message_file;
  int connections = 4;
  int64_t concurrency = 0;
  double seconds = 0;
  int64_t requests = INT64_MAX;
  int64_t interval_us = 0;
  int64_t quiet_ms = 0;
};

Options ParseOptions(CLI::App* app, int argc, char** argv) {
  Options options;
  app->add_option("--target", options.target)->required();
  app->add_option("--message", options.message_file, "File with a serialized ModelInferRequest")->required();
  app->add_option("--connections", options.connections)->capture_default_str();
  auto* loop = app->add_option("--concurrency", options.concurrency, "Requests under way at any time");
  app->add_option("--interval-us", options.interval_us, "Sends one request each so many microseconds")->excludes(loop);
  auto* time = app->add_option("--seconds", options.seconds, "Sends no more after so long");
  app->add_option("--requests", options.requests, "Sends so many in all")->excludes(time);
  app->add_option("--quiet-ms", options.quiet_ms, "Prints \"quiet\", once, when nothing was answered for so long");
  app->parse(argc, argv);
  return options;
}

double Microseconds(Clock::duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

struct Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer answer;
  grpc::Status status;
  Clock::time_point sent;
};

class LoadClient {
 public:
  explicit LoadClient(Options options) : options_(std::move(options)) {}

  bool Connect() {
    std::ifstream file(options_.message_file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (bytes.empty()) return false;
    const grpc::Slice slice(bytes);
    message_ = grpc::ByteBuffer(&slice, 1);
    for (int i = 0; i < options_.connections; ++i) {
      grpc::ChannelArguments arguments;
      // Channels to one address would otherwise share a connection.
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      arguments.SetMaxReceiveMessageSize(-1);
      const auto channel = grpc::CreateCustomChannel(options_.target, grpc::InsecureChannelCredentials(), arguments);
      if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10))) return false;
      stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
    }
    return true;
  }

  void Run() {
    begin_ = Clock::now();
    for (int64_t i = 0; i < options_.concurrency && MaySend(); ++i) Send();
    while (under_way_ > 0 || (options_.interval_us > 0 && MaySend())) {
      void* tag = nullptr;
      bool ok = false;
      if (queue_.AsyncNext(&tag, &ok, NextWake()) == grpc::CompletionQueue::GOT_EVENT) {
        Receive(std::unique_ptr<Call>(static_cast<Call*>(tag)));
      } else if (options_.interval_us > 0) {
        Send();
      } else {
        quiet_said_ = true;
        std::printf("quiet\n");
        std::fflush(stdout);
      }
    }
  }

  void Print() {
    if (latencies_us_.empty()) return;
    std::ranges::sort(latencies_us_);
    std::printf("requests %zu\nok %lld\n", latencies_us_.size(), static_cast<long long>(ok_));
    const double seconds = Microseconds(window_end_ - window_begin_) * 1e-6;
    if (seconds > 0) std::printf("rate %.2f\n", static_cast<double>(counted_) / seconds);
    for (const int percent : {50, 99}) {
      const size_t rank = latencies_us_.size() * static_cast<size_t>(percent) / 100;
      std::printf("p%d_us %.2f\n", percent, latencies_us_[std::min(rank, latencies_us_.size() - 1)]);
    }
    const double sum = std::accumulate(latencies_us_.begin(), latencies_us_.end(), 0.0);
    std::printf("mean_us %.2f\n", sum / static_cast<double>(latencies_us_.size()));
    const double cpu_us = static_cast<double>(std::clock()) * 1e6 / CLOCKS_PER_SEC;
    std::printf("client_cpu_us %.3f\n", cpu_us / static_cast<double>(latencies_us_.size()));
    std::printf("answer_bytes %zu\n", answer_bytes_);
    for (const auto& [refusal, count] : refusals_) {
      std::printf("refusal %d %lld %s\n", refusal.first, static_cast<long long>(count), refusal.second.c_str());
    }
  }

 private:
  bool TimeIsUp() const {
    return options_.seconds > 0 && Clock::now() - begin_ >= std::chrono::duration<double>(options_.seconds);
  }
  bool MaySend() const { return sent_ < options_.requests && !TimeIsUp(); }

  // When to stop waiting for an answer.
  std::chrono::system_clock::time_point NextWake() const {
    const auto now = std::chrono::system_clock::now();
    if (options_.interval_us > 0 && MaySend()) {
      const auto due = begin_ + sent_ * microseconds(options_.interval_us);
      return now + std::max(due - Clock::now(), Clock::duration::zero());
    }
    if (options_.quiet_ms > 0 && !quiet_said_) return now + milliseconds(options_.quiet_ms);
    return now + std::chrono::hours(1);
  }

  void Send() {
    auto call = std::make_unique<Call>();
    grpc::GenericStub& stub = *stubs_[static_cast<size_t>(sent_) % stubs_.size()];
    call->sent = Clock::now();
    call->reader = stub.PrepareUnaryCall(&call->context, kModelInfer, message_, &queue_);
    call->reader->StartCall();
    call->reader->Finish(&call->answer, &call->status, call.get());
    call.release();  // NOLINT(bugprone-unused-return-value): the queue gives it back
    ++sent_;
    ++under_way_;
  }

  void Receive(std::unique_ptr<Call> call) {
    --under_way_;
    const Clock::time_point now = Clock::now();
    latencies_us_.push_back(Microseconds(now - call->sent));
    Count(now);
    if (call->status.ok()) {
      ++ok_;
      answer_bytes_ = call->answer.Length();
    } else {
      ++refusals_[{call->status.error_code(), call->status.error_message()}];
    }
    if (options_.concurrency > 0 && MaySend()) Send();
  }

  void Count(Clock::time_point now) {
    const auto answers = static_cast<int64_t>(latencies_us_.size());
    if (answers <= options_.concurrency || window_end_ > begin_) return;
    if (answers == options_.concurrency + 1) window_begin_ = now;
    if (TimeIsUp()) {
      window_end_ = now;
    } else {
      ++counted_;
    }
  }

  const Options options_;
  grpc::ByteBuffer message_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  int64_t sent_ = 0;
  int64_t under_way_ = 0;
  bool quiet_said_ = false;

  Clock::time_point begin_, window_begin_, window_end_;
  int64_t counted_ = 0;
  int64_t ok_ = 0;
  size_t answer_bytes_ = 0;
  std::vector<double> latencies_us_;
  std::map<std::pair<int, std::string>, int64_t> refusals_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Sends one message to ModelInfer again and again.");
  Options options;
  try {
    options = ParseOptions(&app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  LoadClient client(options);
  if (!client.Connect()) {
    std::fprintf(stderr, "load_client: cannot read %s or cannot connect to %s\n", options.message_file.c_str(),
                 options.target.c_str());
    return 1;
  }
  client.Run();
  client.Print();
  return 0;
}
