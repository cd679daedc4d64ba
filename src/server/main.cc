// The program `ferry`. Exit codes: 0 after a signal and a clean stop; 1 when the server could not start, a model could
// not be loaded with --exit-on-error, or work had to be abandoned at the exit timeout; 2 for a wrong command line; 70 when
// a GPU has died; 128 + signal number when a second signal ends it at once.

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "base/log.h"
#include "ferry/server.h"
#include "server/options.h"

namespace ferry {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

constexpr int kExitGpuLost = 70;  // EX_SOFTWARE of sysexits.h; start again

int WaitForStopSignal() {
  const sigset_t signals = StopSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  return signal;
}

// A handler would not do: as process 1 of a container there is no default action to fall back on.
void ExitOnNextSignal() {
  std::thread([] { _exit(128 + WaitForStopSignal()); }).detach();
}

int Serve(const CommandLine& command) {
  SetVerboseLog(command.verbose);
  for (const std::string& warning : command.warnings) LogWarning(warning);
  // Blocked in every thread from here on, so that only WaitForStopSignal() sees them.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::atomic<bool> failed = false;
  std::atomic<bool> stopping = false;
  Server server(command.server);
  const Status started = server.Start([&] {
    failed = true;
    if (!stopping) kill(getpid(), SIGTERM);
  });
  if (!started.ok()) {
    LogError(started.message());
    return 1;
  }
  WaitForStopSignal();
  stopping = true;
  ExitOnNextSignal();
  const Server::Drained drained = server.Drain();
  if (drained == Server::Drained::kGpuLost) _exit(kExitGpuLost);
  const int code = failed || drained == Server::Drained::kWorkAbandoned ? 1 : 0;
  if (drained != Server::Drained::kClean) _exit(code);
  return code;
}

int Main(int argc, char** argv) {
  const auto command = ParseCommandLine({argv + 1, argv + argc});
  if (!command.ok()) {
    std::fprintf(stderr, "ferry: %s\n", command.status().message().c_str());
    return 2;
  }
  if (const auto* text = std::get_if<TextToPrint>(&*command)) {
    std::fputs(text->text.c_str(), stdout);
    return 0;
  }
  return Serve(std::get<CommandLine>(*command));
}

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) { return ferry::Main(argc, argv); }
