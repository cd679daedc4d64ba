#include "metrics/model_series.h"

namespace ferry {

namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using M = const ModelMetrics&;

double Microseconds(const DurationCount& duration) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(duration.total).count());
}

const std::vector<ValueFamily>& Values() {
  static const std::vector<ValueFamily> families = {
      {"nv_inference_request_success", "Requests answered", MetricType::Counter,
       [](M m) { return static_cast<double>(m.counts.success.count); }},
      {"nv_inference_count", "Rows answered; a batch of n counts n", MetricType::Counter,
       [](M m) { return static_cast<double>(m.counts.inference_count); }},
      {"nv_inference_exec_count", "Batches executed", MetricType::Counter,
       [](M m) { return static_cast<double>(m.counts.execution_count); }},
      {"nv_inference_request_duration_us", "Sum of the time from arrival to answer, in microseconds",
       MetricType::Counter, [](M m) { return Microseconds(m.counts.success); }},
      {"nv_inference_queue_duration_us", "Sum of the time spent waiting, in microseconds", MetricType::Counter,
       [](M m) { return Microseconds(m.counts.queue); }},
      {"nv_inference_compute_input_duration_us", "Sum of the time to gather inputs, in microseconds",
       MetricType::Counter, [](M m) { return Microseconds(m.counts.compute_input); }},
      {"nv_inference_compute_infer_duration_us", "Sum of the time in the model, in microseconds", MetricType::Counter,
       [](M m) { return Microseconds(m.counts.compute_infer); }},
      {"nv_inference_compute_output_duration_us", "Sum of the time to cut outputs, in microseconds",
       MetricType::Counter, [](M m) { return Microseconds(m.counts.compute_output); }},
      {"nv_inference_pending_request_count", "Requests that wait to be executed", MetricType::Gauge,
       [](M m) { return static_cast<double>(m.pending); }},
  };
  return families;
}

// Names of FailureReason.
constexpr const char* kReasons[kFailureReasons] = {"REJECTED", "CANCELED", "BACKEND", "OTHER"};

uint64_t FailuresFor(const ModelMetrics& model, size_t reason) {
  uint64_t count = 0;
  for (int failure = 0; failure < kFailures; ++failure) {
    const FailureReason its_reason = ReasonOf(static_cast<Failure>(failure));
    if (its_reason == static_cast<FailureReason>(reason)) count += model.counts.failures[failure];
  }
  return count;
}

}  // namespace

std::vector<MetricFamily> TritonFamilies(std::span<const ModelMetrics> models) {
  std::vector<MetricFamily> families;
  for (const ValueFamily& family : Values()) families.push_back(MakeFamily(family, models));
  families.push_back(MakeFamily(
      ReasonFamily{"nv_inference_request_failure", "Requests that failed, by reason", kReasons, FailuresFor}, models));
  return families;
}

}  // namespace ferry
