#include "metrics/prometheus_text.h"

#include <gmock/gmock.h>

namespace ferry {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;
using ::testing::Not;

ModelMetrics Example() {
  ModelMetrics model;
  model.model = "mlp";
  model.version = 3;
  model.counts.success = {7, microseconds(1500)};
  model.counts.inference_count = 12;
  model.counts.execution_count = 4;
  model.counts.failures[static_cast<int>(FailureReason::kRejected)] = 2;
  model.pending = 5;
  return model;
}

TEST(PrometheusTextTest, HasTritonsNamesAndLabels) {
  const std::string text = PrometheusText(std::vector{Example()});
  EXPECT_THAT(text, HasSubstr("# TYPE nv_inference_request_success counter\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_success{model=\"mlp\",version=\"3\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_count{model=\"mlp\",version=\"3\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_exec_count{model=\"mlp\",version=\"3\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_duration_us{model=\"mlp\",version=\"3\"} 1500\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_pending_request_count{model=\"mlp\",version=\"3\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_failure{model=\"mlp\",version=\"3\",reason=\"REJECTED\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_failure{model=\"mlp\",version=\"3\",reason=\"BACKEND\"} 0\n"));
}

TEST(PrometheusTextTest, TagsBecomeLabelsThatPrometheusTakes) {
  ModelMetrics model = Example();
  model.tags = {{"team", "a\"b"}, {"cost-center", "7"}, {"cost_center", "8"}, {"_name__", "x"}};
  const std::string text = PrometheusText(std::vector{model});
  EXPECT_THAT(text, HasSubstr("_team=\"a\\\"b\""));
  EXPECT_THAT(text, HasSubstr("_cost_center=\"7\""));
  EXPECT_THAT(text, Not(HasSubstr("_cost_center=\"8\"")));
  EXPECT_THAT(text, Not(HasSubstr("__name__")));
}

}  // namespace
}  // namespace ferry
