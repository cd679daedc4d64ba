#ifndef FERRY_METRICS_PROMETHEUS_TEXT_H_
#define FERRY_METRICS_PROMETHEUS_TEXT_H_

#include <array>
#include <map>
#include <span>
#include <string>

#include "ferry/statistics.h"

namespace ferry {

// The counts of one model version, with what its series are labelled by.
struct ModelMetrics {
  std::string model;
  int64_t version = 0;
  std::map<std::string, std::string> tags;  // metric_tags of the configuration
  StatisticsSnapshot counts;
  size_t pending = 0;      // requests that wait
  Duration oldest_age{0};  // how long the oldest of them has waited
};

// What is counted for the server as a whole.
struct ServerMetrics {
  std::array<uint64_t, kRefusals> refused{};  // infer calls, before it was known which model they are for
  int64_t calls = 0;                          // infer calls in flight
  int64_t call_bytes = 0;                     // of their messages
  int64_t output_bytes = 0;                   // of outputs that are still being sent
};

// Triton's nv_inference_* families and Ferry's own ferry_* in Prometheus' text format, from the same snapshots that the
// statistics method answers.
std::string PrometheusText(const ServerMetrics& server, std::span<const ModelMetrics> models);

}  // namespace ferry

#endif  // FERRY_METRICS_PROMETHEUS_TEXT_H_
