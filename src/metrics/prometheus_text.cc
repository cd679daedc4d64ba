#include "metrics/prometheus_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cctype>
#include <functional>
#include <set>

namespace ferry {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double Microseconds(const DurationCount& duration) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(duration.total).count());
}

// Triton shows a tag `key` as the label `_key`. A label's name may hold less than a tag's, and Prometheus keeps those that
// begin with two underscores for itself.
std::string LabelName(std::string_view tag) {
  while (tag.starts_with('_')) tag.remove_prefix(1);
  std::string name = "_";
  name += tag;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

std::vector<ClientMetric::Label> Labels(const ModelMetrics& model) {
  std::vector<ClientMetric::Label> labels = {{"model", model.model}, {"version", std::to_string(model.version)}};
  std::set<std::string> names;
  for (const auto& [key, value] : model.tags) {
    // Two tags that come to one label would make Prometheus refuse everything: the first one counts.
    const std::string name = LabelName(key);
    if (names.insert(name).second) labels.push_back({name, value});
  }
  return labels;
}

ClientMetric Series(std::vector<ClientMetric::Label> labels, MetricType type, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (type == MetricType::Gauge) {
    metric.gauge.value = value;
  } else {
    metric.counter.value = value;
  }
  return metric;
}

struct Family {
  const char* name;
  const char* help;
  MetricType type;
  std::function<double(const ModelMetrics&)> value;
};

const std::vector<Family>& Families() {
  using M = const ModelMetrics&;
  static const std::vector<Family> families = {
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

MetricFamily Failures(std::span<const ModelMetrics> models) {
  static constexpr const char* kReasons[kFailureReasons] = {"REJECTED", "CANCELED", "BACKEND", "OTHER"};
  MetricFamily family{"nv_inference_request_failure", "Requests that failed, by reason", MetricType::Counter, {}};
  for (const ModelMetrics& model : models) {
    for (int reason = 0; reason < kFailureReasons; ++reason) {
      auto labels = Labels(model);
      labels.push_back({"reason", kReasons[reason]});
      family.metric.push_back(
          Series(std::move(labels), MetricType::Counter, static_cast<double>(model.counts.failures[reason])));
    }
  }
  return family;
}

}  // namespace

std::string PrometheusText(std::span<const ModelMetrics> models) {
  std::vector<MetricFamily> families;
  for (const Family& family : Families()) {
    MetricFamily out{family.name, family.help, family.type, {}};
    for (const ModelMetrics& model : models) {
      out.metric.push_back(Series(Labels(model), family.type, family.value(model)));
    }
    families.push_back(std::move(out));
  }
  families.push_back(Failures(models));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace ferry
