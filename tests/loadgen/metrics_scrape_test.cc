#include "loadgen/metrics_scrape.h"

#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(MetricsScrapeTest, ReadsSeriesWithAndWithoutLabels) {
  const Metrics metrics = ParseMetrics(
      "# HELP a what it is\n# TYPE a counter\n"
      "a 3\n"
      "b{model=\"m } \\\" x\",v=\"1\"} 1.5e3 1700000000\n"
      "c NaN\nd +Inf\nbroken{x=\"\n\n"
      "e{} 0\n");
  EXPECT_THAT(metrics,
              UnorderedElementsAre(Pair("a", 3), Pair("b{model=\"m } \\\" x\",v=\"1\"}", 1500), Pair("e{}", 0)));
}

TEST(MetricsScrapeTest, OnlyWhatChangedIsToldAndNewSeriesCountFromNothing) {
  const std::vector<MetricChange> changes =
      Changes({{"same", 1}, {"up", 2}, {"gone", 5}}, {{"same", 1}, {"up", 5}, {"new", 4}});
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].series, "new");
  EXPECT_EQ(changes[0].before, 0);
  EXPECT_EQ(changes[1].series, "up");
  EXPECT_EQ(changes[1].after, 5);
}

TEST(MetricsScrapeTest, OtherAddressesAreRefused) {
  for (const char* const url :
       {"", "localhost:8002", "https://localhost:8002/metrics", "http://localhost/metrics", "http://:1/"}) {
    EXPECT_THAT(FetchPage(url, std::chrono::seconds(1)), HasStatus(StatusCode::kInvalidArgument, HasSubstr("http://")));
  }
}

}  // namespace
}  // namespace ferry
