#include "metrics/model_series.h"

#include <cctype>
#include <set>

namespace ferry {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

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

}  // namespace

std::vector<ClientMetric::Label> LabelsOf(const ModelMetrics& model) {
  std::vector<ClientMetric::Label> labels = {{"model", model.model}, {"version", std::to_string(model.version)}};
  std::set<std::string> names;
  for (const auto& [key, value] : model.tags) {
    // Two tags that come to one label would make Prometheus refuse everything: the first one counts.
    const std::string name = LabelName(key);
    if (names.insert(name).second) labels.push_back({name, value});
  }
  return labels;
}

MetricFamily MakeFamily(const ValueFamily& family, std::span<const ModelMetrics> models) {
  MetricFamily made{family.name, family.help, family.type, {}};
  for (const ModelMetrics& model : models) {
    made.metric.push_back(Series(LabelsOf(model), family.type, family.value(model)));
  }
  return made;
}

MetricFamily MakeFamily(const ReasonFamily& family, std::span<const ModelMetrics> models) {
  MetricFamily made{family.name, family.help, MetricType::Counter, {}};
  for (const ModelMetrics& model : models) {
    for (size_t reason = 0; reason < family.reasons.size(); ++reason) {
      auto labels = LabelsOf(model);
      labels.push_back({"reason", family.reasons[reason]});
      const auto value = static_cast<double>(family.value(model, reason));
      made.metric.push_back(Series(std::move(labels), MetricType::Counter, value));
    }
  }
  return made;
}

}  // namespace ferry
