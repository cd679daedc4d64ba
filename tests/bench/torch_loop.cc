// Calls a model again and again in one thread, at one batch size: what the computation costs with no server around it.
//
//   torch_loop FILE BATCH WIDTH SECONDS
//
// The model takes one FP32 tensor of [BATCH, WIDTH]. Prints name and value, a line each: rows a second, the median of a
// call in microseconds, and the processor time of a row in microseconds.

#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The interpreter compiles the graph in its first calls.
constexpr int kWarmUpCalls = 5;

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void Loop(const std::string& file, int64_t batch, int64_t width, double seconds) {
  at::set_num_threads(1);
  // As in the server: its passes find nothing to fuse on a CPU.
  torch::jit::setTensorExprFuserEnabled(false);
  torch::jit::Module module = torch::jit::load(file, c10::Device(c10::kCPU));
  module.eval();
  const c10::InferenceMode inference;
  const std::vector<c10::IValue> arguments = {at::rand({batch, width})};
  for (int i = 0; i < kWarmUpCalls; ++i) module.forward(arguments);
  std::vector<double> calls;
  const double cpu = ProcessorSeconds();
  const Clock::time_point begin = Clock::now();
  Clock::time_point end = begin;
  while (end - begin < Seconds(seconds)) {
    const Clock::time_point called = end;
    module.forward(arguments);
    end = Clock::now();
    calls.push_back(Seconds(end - called).count());
  }
  const double rows = static_cast<double>(calls.size()) * static_cast<double>(batch);
  const double rate = rows / Seconds(end - begin).count();
  const double cpu_us = (ProcessorSeconds() - cpu) * 1e6 / rows;
  std::ranges::sort(calls);
  std::printf("rate %.2f\np50_us %.2f\ncpu_us %.3f\n", rate, calls[calls.size() / 2] * 1e6, cpu_us);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "Usage: torch_loop FILE BATCH WIDTH SECONDS\n");
    return 2;
  }
  try {
    Loop(argv[1], std::stol(argv[2]), std::stol(argv[3]), std::stod(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torch_loop: %s\n", error.what());
    return 1;
  }
  return 0;
}
