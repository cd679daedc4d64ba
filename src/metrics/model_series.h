#ifndef FERRY_METRICS_MODEL_SERIES_H_
#define FERRY_METRICS_MODEL_SERIES_H_

#include <prometheus/metric_family.h>

#include <functional>
#include <string>
#include <vector>

#include "metrics/prometheus_text.h"

namespace ferry {

// The parts that metric families are made of: one series for each model version.

// A family with one value for each model version.
struct ValueFamily {
  const char* name;
  const char* help;
  prometheus::MetricType type;
  std::function<double(const ModelMetrics&)> value;
};
prometheus::MetricFamily MakeFamily(const ValueFamily& family, std::span<const ModelMetrics> models);

// A family of counters with one value for each model version and reason.
struct ReasonFamily {
  const char* name;
  const char* help;
  std::span<const char* const> reasons;
  std::function<uint64_t(const ModelMetrics&, size_t reason)> value;
};
prometheus::MetricFamily MakeFamily(const ReasonFamily& family, std::span<const ModelMetrics> models);

// model, version and the model's metric_tags.
std::vector<prometheus::ClientMetric::Label> LabelsOf(const ModelMetrics& model);

// The families that PrometheusText() puts together.
std::vector<prometheus::MetricFamily> TritonFamilies(std::span<const ModelMetrics> models);
std::vector<prometheus::MetricFamily> FerryFamilies(std::span<const ModelMetrics> models);
std::vector<prometheus::MetricFamily> ServerFamilies(const ServerMetrics& server);

}  // namespace ferry

#endif  // FERRY_METRICS_MODEL_SERIES_H_
