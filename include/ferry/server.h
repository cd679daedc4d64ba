#ifndef FERRY_SERVER_H_
#define FERRY_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ferry/status.h"

namespace ferry {

// What the flags of the command line say; `ferry --help` describes each.
struct ServerOptions {
  std::vector<std::string> model_repositories;
  std::string server_id = "ferry";
  std::string grpc_address = "0.0.0.0";
  int grpc_port = 8001;        // 0: any free port
  int grpc_infer_threads = 0;  // 0: one for every two cores
  int64_t grpc_max_message_bytes = 256 << 20;
  bool allow_metrics = true;
  std::string metrics_address = "0.0.0.0";
  int metrics_port = 8002;  // 0: any free port
  bool strict_readiness = true;
  bool exit_on_error = false;
  bool exit_on_gpu_fault = true;
  int model_load_threads = 4;
  int64_t max_queue_size = 4096;
  int64_t max_queue_bytes = int64_t{1} << 30;
  int64_t max_server_queue_size = 65536;
  int64_t max_server_queue_bytes = int64_t{4} << 30;
  int64_t max_inflight_calls = 16384;
  int64_t max_inflight_bytes = int64_t{2} << 30;
  int64_t max_held_output_bytes = int64_t{256} << 20;
  std::chrono::seconds warmup_budget{30};
  std::chrono::seconds exit_timeout{30};
};

// Server is a whole server: repository, backends and doors, wired together.
//
// Threading: Start() and Drain() by one thread.
class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();

  // Opens the ports and begins to load the models; returns before they are loaded. `failed` is called, on any thread and
  // perhaps before this returns, when a model could not be loaded and exit_on_error is set, or when a GPU is dead and
  // exit_on_gpu_fault is set.
  Status Start(std::function<void()> failed);

  // How a stop went. Unless it was clean a thread is still at work that nothing can interrupt, and the process must end
  // without clean-up.
  enum class Drained {
    kClean,
    kLoadCutShort,   // every accepted request was answered, but a model is still loading
    kWorkAbandoned,  // a batch is still running, and its requests get no answer
    kGpuLost,        // every accepted request was answered; models remain that cannot be freed on a dead GPU
  };

  // Refuses new work, finishes what was accepted, stops the models and closes the ports. What still waits after the
  // exit timeout is failed with UNAVAILABLE.
  Drained Drain();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_H_
