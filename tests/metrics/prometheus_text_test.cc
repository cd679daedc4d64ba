#include "metrics/prometheus_text.h"

#include <gmock/gmock.h>

#include "base/strings.h"

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
  model.counts.failures[static_cast<int>(Failure::kQueueFull)] = 2;
  model.counts.failures[static_cast<int>(Failure::kTimeout)] = 1;
  model.counts.dispatches[static_cast<int>(DispatchReason::kDelay)] = 4;
  model.counts.batches[2].compute_infer.count = 1;
  model.counts.batches[3].compute_infer.count = 2;
  model.counts.batches[4].compute_infer.count = 1;
  model.counts.queue = {7, microseconds(500'000)};
  model.counts.queue_times[1] = 5;
  model.counts.queue_times[kQueueTimeBuckets - 1] = 2;
  model.oldest_age = std::chrono::milliseconds(1500);
  model.pending = 5;
  return model;
}

TEST(PrometheusTextTest, HasTritonsNamesAndLabels) {
  const std::string text = PrometheusText({3}, std::vector{Example()});
  EXPECT_THAT(text, HasSubstr("# TYPE nv_inference_request_success counter\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_success{model=\"mlp\",version=\"3\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_count{model=\"mlp\",version=\"3\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_exec_count{model=\"mlp\",version=\"3\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_duration_us{model=\"mlp\",version=\"3\"} 1500\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_pending_request_count{model=\"mlp\",version=\"3\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_failure{model=\"mlp\",version=\"3\",reason=\"REJECTED\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_failure{model=\"mlp\",version=\"3\",reason=\"BACKEND\"} 0\n"));
}

TEST(PrometheusTextTest, CountsByReason) {
  const std::string text = PrometheusText({3}, std::vector{Example()});
  constexpr char kModel[] = "{model=\"mlp\",version=\"3\",reason=\"";
  EXPECT_THAT(text, HasSubstr(StrCat("ferry_request_failures_total", kModel, "queue_full\"} 2\n")));
  EXPECT_THAT(text, HasSubstr(StrCat("ferry_request_failures_total", kModel, "timeout\"} 1\n")));
  EXPECT_THAT(text, HasSubstr(StrCat("ferry_batches_total", kModel, "delay\"} 4\n")));
  EXPECT_THAT(text, HasSubstr("ferry_oldest_request_age_seconds{model=\"mlp\",version=\"3\"} 1.5\n"));
}

TEST(PrometheusTextTest, CallsRefusedBeforeTheirModelWasKnownAreTheServers) {
  EXPECT_THAT(PrometheusText({{3, 4, 5}, 6, 7, 8}, {}),
              AllOf(HasSubstr("ferry_calls_refused_total{reason=\"stopping\"} 3\n"),
                    HasSubstr("ferry_calls_refused_total{reason=\"bytes\"} 5\n"),
                    HasSubstr("ferry_calls_in_flight 6\n"), HasSubstr("ferry_output_bytes_held 8\n")));
}

TEST(PrometheusTextTest, BatchSizesAreAHistogram) {
  const std::string text = PrometheusText({3}, std::vector{Example()});
  constexpr char kBucket[] = "ferry_batch_size_rows_bucket{model=\"mlp\",version=\"3\",le=\"";
  EXPECT_THAT(text, HasSubstr("# TYPE ferry_batch_size_rows histogram\n"));
  EXPECT_THAT(text, HasSubstr(StrCat(kBucket, "1\"} 0\n")));
  EXPECT_THAT(text, HasSubstr(StrCat(kBucket, "2\"} 1\n")));
  EXPECT_THAT(text, HasSubstr(StrCat(kBucket, "4\"} 4\n")));
  EXPECT_THAT(text, HasSubstr("ferry_batch_size_rows_count{model=\"mlp\",version=\"3\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("ferry_batch_size_rows_sum{model=\"mlp\",version=\"3\"} 12\n"));
}

TEST(PrometheusTextTest, QueueTimesAreAHistogramInSeconds) {
  const std::string text = PrometheusText({3}, std::vector{Example()});
  constexpr char kBucket[] = "ferry_queue_seconds_bucket{model=\"mlp\",version=\"3\",le=\"";
  EXPECT_THAT(text, HasSubstr(StrCat(kBucket, "0.0001\"} 0\n")));
  EXPECT_THAT(text, HasSubstr(StrCat(kBucket, "0.00025\"} 5\n")));
  EXPECT_THAT(text, HasSubstr(StrCat(kBucket, "10\"} 5\n")));
  EXPECT_THAT(text, HasSubstr(StrCat(kBucket, "+Inf\"} 7\n")));
  EXPECT_THAT(text, HasSubstr("ferry_queue_seconds_sum{model=\"mlp\",version=\"3\"} 0.5\n"));
}

TEST(PrometheusTextTest, TagsBecomeLabelsThatPrometheusTakes) {
  ModelMetrics model = Example();
  model.tags = {{"team", "a\"b"}, {"cost-center", "7"}, {"cost_center", "8"}, {"_name__", "x"}};
  const std::string text = PrometheusText({3}, std::vector{model});
  EXPECT_THAT(text, HasSubstr("_team=\"a\\\"b\""));
  EXPECT_THAT(text, HasSubstr("_cost_center=\"7\""));
  EXPECT_THAT(text, Not(HasSubstr("_cost_center=\"8\"")));
  EXPECT_THAT(text, Not(HasSubstr("__name__")));
}

}  // namespace
}  // namespace ferry
