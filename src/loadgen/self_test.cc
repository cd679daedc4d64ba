#include "loadgen/self_test.h"

#include <grpcpp/generic/generic_stub.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "base/strings.h"
#include "loadgen/duration_units.h"
#include "loadgen/load_run.h"
#include "loadgen/null_server.h"

namespace ferry {

namespace {

constexpr size_t kConcurrency = 64;

// A null server in a process of its own, which ends with this object.
class NullProcess {
 public:
  static Result<std::unique_ptr<NullProcess>> Start(int64_t answer_bytes) {
    int to_child[2], from_child[2];
    if (pipe(to_child) != 0 || pipe(from_child) != 0) return UnavailableError("cannot make a pipe");
    const pid_t pid = fork();
    if (pid < 0) return UnavailableError("cannot start a process");
    if (pid == 0) {
      dup2(to_child[0], STDIN_FILENO);
      dup2(from_child[1], STDOUT_FILENO);
      for (const int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) close(end);
      const std::string bytes = std::to_string(answer_bytes);
      execl("/proc/self/exe", "ferry-bench", "null-server", bytes.c_str(), nullptr);
      _exit(127);
    }
    close(to_child[0]);
    close(from_child[1]);
    std::unique_ptr<NullProcess> process(new NullProcess(pid, to_child[1]));
    std::array<char, 16> line{};
    const ssize_t length = read(from_child[0], line.data(), line.size() - 1);
    close(from_child[0]);
    if (length > 0) process->port_ = std::atoi(line.data());
    if (process->port_ == 0) return UnavailableError("the null server did not start");
    return process;
  }
  ~NullProcess() {
    close(input_);  // at which it ends
    waitpid(pid_, nullptr, 0);
  }

  std::string target() const { return StrCat("127.0.0.1:", port_); }

 private:
  NullProcess(pid_t pid, int input) : pid_(pid), input_(input) {}
  const pid_t pid_;
  const int input_;
  int port_ = 0;
};

double ProcessorMicroseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// The same calls, without anything around them. Rate and processor time of a request.
std::pair<double, double> BareLoop(const ConnectionOptions& options, const grpc::ByteBuffer& message,
                                   Duration duration) {
  struct BareCall {
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    grpc::ByteBuffer answer;
    grpc::Status status;
  };
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  for (int i = 0; i < options.channels; ++i) {
    stubs.push_back(std::make_unique<grpc::GenericStub>(OpenChannel(options)));
  }
  grpc::CompletionQueue queue;
  size_t sent = 0, done = 0;
  const auto send = [&] {
    auto* call = new BareCall;
    call->reader = stubs[sent++ % stubs.size()]->PrepareUnaryCall(
        &call->context, "/inference.GRPCInferenceService/ModelInfer", message, &queue);
    call->reader->StartCall();
    call->reader->Finish(&call->answer, &call->status, call);
  };
  const TimePoint begin = std::chrono::steady_clock::now();
  const double cpu = ProcessorMicroseconds();
  for (size_t i = 0; i < kConcurrency; ++i) send();
  void* tag = nullptr;
  bool ok = false;
  while (done < sent && queue.Next(&tag, &ok)) {
    delete static_cast<BareCall*>(tag);
    ++done;
    if (std::chrono::steady_clock::now() - begin < duration) send();
  }
  const double seconds = Seconds(std::chrono::steady_clock::now() - begin);
  const auto count = static_cast<double>(done);
  return {count / seconds, (ProcessorMicroseconds() - cpu) / count};
}

LoadPoint Measure(std::span<const std::unique_ptr<LoadWorker>> workers, const LoadPlan& plan) {
  const LoadSurroundings surroundings{[] { return [] { return ServerAccount(); }; }, [](const LoadStatus&) {},
                                      [](TimePoint time) {
                                        std::this_thread::sleep_until(time);
                                        return false;
                                      }};
  return RunLoad(workers, plan, surroundings);
}

}  // namespace

Result<SelfTestResult> RunSelfTest(const SelfTestOptions& options) {
  const Result<std::unique_ptr<NullProcess>> process = NullProcess::Start(options.bytes);
  if (!process.ok()) return process.status();
  ConnectionOptions connection;
  connection.target = (*process)->target();
  connection.credentials = grpc::InsecureChannelCredentials();
  connection.channels = 4;
  std::vector<std::unique_ptr<LoadWorker>> workers;
  workers.push_back(std::make_unique<LoadWorker>(connection));
  FERRY_RETURN_IF_ERROR(workers[0]->Connect(std::chrono::seconds(10)));

  LoadPlan plan;
  const grpc::Slice slice(std::string(static_cast<size_t>(options.bytes), '\0'));
  plan.mix.classes = {{"null"}};
  plan.mix.requests = {{grpc::ByteBuffer(&slice, 1), 0}};
  plan.warmup = std::chrono::milliseconds(500);
  plan.duration = options.duration;
  plan.shape = {LoadShape::Kind::kConcurrency, kConcurrency, "closed"};
  SelfTestResult result;
  // By turns, so that what else the host does meets both.
  constexpr int kRounds = 3;
  for (int i = 0; i < kRounds; ++i) {
    const auto [rate, cpu] = BareLoop(connection, plan.mix.requests[0].message, options.duration);
    const LoadPoint point = Measure(workers, plan);
    result.bare_rate += rate / kRounds;
    result.bare_cpu_us += cpu / kRounds;
    result.bench_rate += point.requests_per_second / kRounds;
    result.bench_cpu_us += point.client_cpu_us / kRounds;
  }
  plan.shape = {LoadShape::Kind::kRate, options.rate, "constant"};
  plan.schedule = [rate = options.rate](uint64_t) {
    return [rate, k = int64_t{0}]() mutable -> std::optional<DueRequest> {
      return DueRequest{Duration(static_cast<int64_t>(static_cast<double>(k++) * 1e9 / rate)), {}};
    };
  };
  const LoadPoint paced = Measure(workers, plan);
  result.lateness_p50 = paced.lateness.Quantile(0.5);
  result.lateness_p99 = paced.lateness.Quantile(0.99);
  result.lateness_max = paced.lateness.max();
  return result;
}

std::string SelfTestText(const SelfTestOptions& options, const SelfTestResult& result) {
  const auto us = [](Duration time) { return std::chrono::duration<double, std::micro>(time).count(); };
  std::ostringstream text;
  text << std::fixed << std::setprecision(1);
  text << "Against a server on this host that answers at once, " << options.bytes << " bytes each way, " << kConcurrency
       << " requests under way, one thread:\n";
  text << "  a bare gRPC loop   " << std::setw(9) << result.bare_rate << " requests/s   " << std::setw(6)
       << result.bare_cpu_us << " us of processor time each\n";
  text << "  ferry-bench        " << std::setw(9) << result.bench_rate << " requests/s   " << std::setw(6)
       << result.bench_cpu_us << " us of processor time each, " << std::setprecision(2)
       << result.bench_cpu_us / result.bare_cpu_us << " of the bare loop's\n";
  text << std::setprecision(0) << "At " << options.rate
       << " requests/s at even intervals they are sent late by:\n  p50 " << us(result.lateness_p50) << " us   p99 "
       << us(result.lateness_p99) << " us   max " << us(result.lateness_max) << " us\n"
       << "A result is no better than these figures.\n";
  return std::move(text).str();
}

Status RunNullServer(int64_t answer_bytes) {
  const Result<std::unique_ptr<NullServer>> server = NullServer::Start(answer_bytes);
  if (!server.ok()) return server.status();
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return Status();
}

}  // namespace ferry
