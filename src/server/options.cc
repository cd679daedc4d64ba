#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/strings.h"
#include "ferry/version.h"

namespace ferry {

namespace {

// Triton's flags for what Ferry does not have. They are accepted, so that a working command line goes on working.
constexpr const char* kWithoutEffect[] = {"--http-port",
                                          "--http-address",
                                          "--allow-http",
                                          "--allow-grpc",
                                          "--log-info",
                                          "--log-warning",
                                          "--log-error",
                                          "--strict-model-config",
                                          "--disable-auto-complete-config",
                                          "--backend-directory"};

// Insertions, deletions and replacements that turn one text into the other.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string Suggestion(const CLI::App& app, std::string_view flag) {
  std::string nearest;
  size_t distance = std::numeric_limits<size_t>::max();
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (const size_t d = EditDistance(flag, "--" + name); d < distance) {
        distance = d;
        nearest = "--" + name;
      }
    }
  }
  // Further off than half of what was typed it is no slip of the finger.
  return distance <= flag.size() / 2 ? StrCat("; did you mean ", nearest, "?") : "; see ferry --help";
}

void AddRepositoryFlags(CLI::App& app, ServerOptions& options) {
  app.add_option("--model-repository,--model-store", options.model_repositories,
                 "Folder with the models, one folder each; may be given several times")
      ->allow_extra_args(false)
      ->type_name("DIR");
  app.add_option("--model-load-thread-count", options.model_load_threads, "Models that load at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--strict-readiness", options.strict_readiness,
                 "Ready only when every model is; else as soon as every load has ended")
      ->capture_default_str();
  app.add_option(
         "--exit-on-gpu-fault", options.exit_on_gpu_fault,
         "End with code 70 when a GPU dies (a kernel's illegal address, say), so that a supervisor starts anew; "
         "else go on with the models that have no instance there")
      ->capture_default_str();
  app.add_option("--exit-on-error", options.exit_on_error, "End with code 1 when a model cannot be loaded")
      ->capture_default_str();
}

void AddPortFlags(CLI::App& app, ServerOptions& options) {
  app.add_option("--grpc-address", options.grpc_address, "Address of the gRPC port")->capture_default_str();
  app.add_option("--grpc-port", options.grpc_port, "gRPC port; 0 for any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--grpc-infer-thread-count", options.grpc_infer_threads,
                 "Threads that take infer calls; 0 for one for every two cores")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app.add_option("--grpc-max-message-size", options.grpc_max_message_bytes, "Largest request in bytes")
      ->check(CLI::Range(int64_t{1}, int64_t{std::numeric_limits<int32_t>::max()}))
      ->capture_default_str();
  app.add_option("--allow-metrics", options.allow_metrics, "Serve Prometheus metrics")->capture_default_str();
  app.add_option("--metrics-address", options.metrics_address, "Address of the metrics port")->capture_default_str();
  app.add_option("--metrics-port", options.metrics_port, "Metrics port; 0 for any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
}

struct Numbers {
  int64_t warmup_seconds = 30;
  int64_t exit_seconds = 30;
  int verbose = 0;
};

void AddOtherFlags(CLI::App& app, ServerOptions& options, Numbers& numbers) {
  app.add_option("--id", options.server_id, "Name in the server's metadata")->capture_default_str();
  app.add_option("--max-queue-size", options.max_queue_size,
                 "Requests of one model that may wait, where its configuration has no max_queue_size")
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--max-queue-bytes", options.max_queue_bytes, "Bytes of input of one model that may wait")
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--max-server-queue-size", options.max_server_queue_size, "Requests of all models that may wait")
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--max-server-queue-bytes", options.max_server_queue_bytes,
                 "Bytes of input of all models that may wait")
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--max-inflight-calls", options.max_inflight_calls, "Infer calls without an answer; more are refused")
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--max-inflight-bytes", options.max_inflight_bytes,
                 "Bytes of the messages of those calls; what is more is refused, if possible unread")
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--max-held-output-bytes", options.max_held_output_bytes,
                 "Bytes of outputs that may be held for clients that read slowly; beyond it answers are copied")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  app.add_option("--warmup-budget-secs", numbers.warmup_seconds,
                 "Seconds that a model may spend on warming batch sizes before it is ready")
      ->check(CLI::Range(int64_t{0}, int64_t{86400}))
      ->capture_default_str();
  app.add_option("--exit-timeout-secs", numbers.exit_seconds, "Seconds to finish accepted requests after SIGTERM")
      ->check(CLI::Range(int64_t{0}, int64_t{86400}))
      ->capture_default_str();
  app.add_option("--log-verbose", numbers.verbose, "More in the log when not 0")->capture_default_str();
}

void AddFlagsWithoutEffect(CLI::App& app, std::vector<std::string>& warnings) {
  for (const char* flag : kWithoutEffect) {
    app.add_option_function<std::string>(
           flag,
           [flag, &warnings](const std::string&) {
             warnings.push_back(StrCat(flag, " has no effect in this version"));
           },
           "Accepted, has no effect")
        ->group("");
  }
  app.add_option_function<std::string>(
         "--model-control-mode",
         [](const std::string& mode) {
           if (mode != "none")
             throw CLI::ValidationError("--model-control-mode", "only 'none' is offered, got '" + mode + "'");
         },
         "How models are loaded; only 'none': all of them, at start")
      ->group("");
}

}  // namespace

Result<std::variant<CommandLine, TextToPrint>> ParseCommandLine(std::vector<std::string> arguments) {
  CommandLine parsed;
  Numbers numbers;
  if (!arguments.empty() && arguments.front() == "serve") arguments.erase(arguments.begin());
  CLI::App app(
      "Ferry serves PyTorch models over gRPC, in batches.\n"
      "Example: ferry --model-repository=/models",
      "ferry");
  app.allow_extras();
  app.set_version_flag("--version", StrCat("ferry ", kVersion));
  AddRepositoryFlags(app, parsed.server);
  AddPortFlags(app, parsed.server);
  AddOtherFlags(app, parsed.server, numbers);
  AddFlagsWithoutEffect(app, parsed.warnings);
  try {
    std::ranges::reverse(arguments);  // CLI11 takes a vector from its end
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return std::variant<CommandLine, TextToPrint>(TextToPrint{app.help()});
  } catch (const CLI::CallForVersion&) {
    return std::variant<CommandLine, TextToPrint>(TextToPrint{StrCat("ferry ", kVersion, "\n")});
  } catch (const CLI::ParseError& error) {
    return InvalidArgumentError(error.what());
  }
  if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
    const std::string flag = unknown.front().substr(0, unknown.front().find('='));
    return InvalidArgumentError(StrCat("unknown argument ", Quoted(flag), Suggestion(app, flag)));
  }
  if (parsed.server.model_repositories.empty()) {
    return InvalidArgumentError("--model-repository=DIR is needed; see ferry --help");
  }
  parsed.server.warmup_budget = std::chrono::seconds(numbers.warmup_seconds);
  parsed.server.exit_timeout = std::chrono::seconds(numbers.exit_seconds);
  parsed.verbose = numbers.verbose != 0;
  return std::variant<CommandLine, TextToPrint>(std::move(parsed));
}

}  // namespace ferry
