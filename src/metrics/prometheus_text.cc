#include "metrics/prometheus_text.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>

#include "metrics/model_series.h"

namespace ferry {

std::string PrometheusText(const ServerMetrics& server, std::span<const ModelMetrics> models) {
  std::vector<prometheus::MetricFamily> families = TritonFamilies(models);
  std::ranges::move(FerryFamilies(models), std::back_inserter(families));
  std::ranges::move(ServerFamilies(server), std::back_inserter(families));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace ferry
