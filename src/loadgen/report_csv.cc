#include "loadgen/report_csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "loadgen/report_figures.h"

namespace ferry {

namespace {

int64_t Microseconds(Duration time) { return std::chrono::duration_cast<std::chrono::microseconds>(time).count(); }

std::string Line(const LoadPoint& point) {
  const ServerSide server = point.server.value_or(ServerSide());
  const auto service = Duration(static_cast<int64_t>(point.service.MeanNanoseconds()));
  const Duration inside = server.queue + server.compute_input + server.compute_infer + server.compute_output;
  std::string line = fmt::format("{:g},{:.2f},0,{},{},{},{},{},0", point.load.value, InferencesPerSecond(point),
                                 Microseconds(std::max(service - inside, Duration::zero())), Microseconds(server.queue),
                                 Microseconds(server.compute_input), Microseconds(server.compute_infer),
                                 Microseconds(server.compute_output));
  for (const double q : {0.5, 0.9, 0.95, 0.99}) line += fmt::format(",{}", Microseconds(point.response.Quantile(q)));
  return line + "\n";
}

}  // namespace

std::string CsvReport(const BenchResult& result) {
  const bool closed = result.points.empty() || result.points.front().load.kind == LoadShape::Kind::kConcurrency;
  std::string text = closed ? "Concurrency" : "Request Rate";
  text +=
      ",Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,"
      "Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n";
  for (const LoadPoint& point : result.points) text += Line(point);
  return text;
}

}  // namespace ferry
