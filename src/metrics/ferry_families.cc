#include "metrics/model_series.h"

namespace ferry {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using M = const ModelMetrics&;

double Seconds(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

const std::vector<ValueFamily>& Values() {
  static const std::vector<ValueFamily> families = {
      {"ferry_oldest_request_age_seconds", "How long the oldest waiting request has waited", MetricType::Gauge,
       [](M m) { return Seconds(m.oldest_age); }},
      {"ferry_dropped_replies_total", "Answers that were ready when their client had gone", MetricType::Counter,
       [](M m) { return static_cast<double>(m.counts.dropped_replies); }},
      {"ferry_input_elements_total", "Elements of the inputs that were executed", MetricType::Counter,
       [](M m) { return static_cast<double>(m.counts.elements); }},
      {"ferry_padding_elements_total",
       "Elements executed beyond those: inputs filled up to a length, executions rounded up to a size",
       MetricType::Counter, [](M m) { return static_cast<double>(m.counts.padding); }},
      {"ferry_batch_retries_total", "Batches that failed and were run again in parts", MetricType::Counter,
       [](M m) { return static_cast<double>(m.counts.retries); }},
  };
  return families;
}

// Names of Failure, Refusal and DispatchReason.
constexpr const char* kFailureNames[kFailures] = {"bad_request", "queue_full", "queue_bytes", "server_full", "timeout",
                                                  "deadline",    "cancelled",  "stopping",    "model"};
constexpr const char* kRefusalNames[kRefusals] = {"stopping", "calls", "bytes"};
constexpr const char* kDispatchNames[kDispatchReasons] = {"full", "preferred", "cannot_grow", "delay", "idle"};

ClientMetric Histogram(const ModelMetrics& model, double sum) {
  ClientMetric metric;
  metric.label = LabelsOf(model);
  metric.histogram.sample_sum = sum;
  return metric;
}

// Powers of two up to here are the bounds, the same for all models, so that their histograms can be added up.
constexpr int64_t kLargestBatchBound = 1024;

ClientMetric BatchSizes(const ModelMetrics& model) {
  ClientMetric metric = Histogram(model, static_cast<double>(model.counts.inference_count));
  for (int64_t bound = 1; bound <= kLargestBatchBound; bound *= 2) {
    uint64_t below = 0;
    for (const auto& [rows, batches] : model.counts.batches) below += rows <= bound ? batches.compute_infer.count : 0;
    metric.histogram.bucket.push_back({below, static_cast<double>(bound)});
  }
  metric.histogram.sample_count = model.counts.execution_count;
  return metric;
}

ClientMetric QueueTimes(const ModelMetrics& model) {
  ClientMetric metric = Histogram(model, Seconds(model.counts.queue.total));
  uint64_t below = 0;
  for (size_t i = 0; i < std::size(kQueueTimeBounds); ++i) {
    below += model.counts.queue_times[i];
    metric.histogram.bucket.push_back({below, Seconds(kQueueTimeBounds[i])});
  }
  metric.histogram.sample_count = model.counts.queue.count;
  return metric;
}

MetricFamily HistogramFamily(const char* name, const char* help, ClientMetric (*histogram)(const ModelMetrics&),
                             std::span<const ModelMetrics> models) {
  MetricFamily family{name, help, MetricType::Histogram, {}};
  for (const ModelMetrics& model : models) family.metric.push_back(histogram(model));
  return family;
}

}  // namespace

std::vector<MetricFamily> ServerFamilies(const ServerMetrics& server) {
  MetricFamily refused{"ferry_calls_refused_total",
                       "Infer calls refused before it was known which model they are for",
                       MetricType::Counter,
                       {}};
  for (size_t i = 0; i < kRefusals; ++i) {
    ClientMetric& metric = refused.metric.emplace_back();
    metric.label = {{"reason", kRefusalNames[i]}};
    metric.counter.value = static_cast<double>(server.refused[i]);
  }
  const auto gauge = [](const char* name, const char* help, int64_t value) {
    ClientMetric metric;
    metric.gauge.value = static_cast<double>(value);
    return MetricFamily{name, help, MetricType::Gauge, {metric}};
  };
  return {refused, gauge("ferry_calls_in_flight", "Infer calls that have no answer yet", server.calls),
          gauge("ferry_call_bytes_in_flight", "Bytes of the messages of those calls", server.call_bytes),
          gauge("ferry_output_bytes_held", "Bytes of outputs that are still being sent", server.output_bytes)};
}

std::vector<MetricFamily> FerryFamilies(std::span<const ModelMetrics> models) {
  std::vector<MetricFamily> families;
  for (const ValueFamily& family : Values()) families.push_back(MakeFamily(family, models));
  families.push_back(
      MakeFamily(ReasonFamily{"ferry_request_failures_total", "Requests that were not answered, by the reason",
                              kFailureNames, [](M m, size_t failure) { return m.counts.failures[failure]; }},
                 models));
  families.push_back(
      MakeFamily(ReasonFamily{"ferry_batches_total", "Batches taken from the queue, by why they left then",
                              kDispatchNames, [](M m, size_t reason) { return m.counts.dispatches[reason]; }},
                 models));
  families.push_back(HistogramFamily("ferry_batch_size_rows", "Rows of the executed batches", BatchSizes, models));
  families.push_back(HistogramFamily("ferry_queue_seconds", "Time that answered requests waited", QueueTimes, models));
  return families;
}

}  // namespace ferry
