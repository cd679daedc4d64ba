#include "loadgen/report_html.h"

#include <gmock/gmock.h>

#include <regex>

#include "loadgen/report_hgrm.h"
#include "loadgen/sample_result.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The first end tag that does not close the last open one; empty if all do.
std::string Unbalanced(const std::string& html) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
  for (auto it = std::sregex_iterator(html.begin(), html.end(), tag); it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[2];
    if ((*it)[3].length() > 0 || name == "meta") continue;
    if ((*it)[1].length() == 0) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return name;
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(HtmlReportTest, ShowsTheFiguresOfAResult) {
  BenchResult result = SampleResult(SamplePoint());
  result.server = "ferry 1.0";
  const std::string html = HtmlReport({result});
  EXPECT_THAT(html, AllOf(HasSubstr("mlp on ferry 1.0"), HasSubstr("8 at once"),
                          HasSubstr("Where the mean of the latency goes"), HasSubstr("Batches that the server ran"),
                          HasSubstr("UNAVAILABLE")));
  EXPECT_EQ(Unbalanced(html), "");
}

TEST(HtmlReportTest, NothingFromOutsideBecomesMarkup) {
  BenchResult result = SampleResult(SamplePoint());
  result.model = "<script>alert(1)</script>";
  result.server = "\"><img src=x>";
  result.arguments = {"--header", "<b>"};
  result.points[0].invalid = {"<i>because</i>"};
  result.model_config = "<pre>";
  const std::string html = HtmlReport({result});
  EXPECT_THAT(html,
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<img")), Not(HasSubstr("<b>")), Not(HasSubstr("<i>"))));
  EXPECT_EQ(Unbalanced(html), "");
}

TEST(HtmlReportTest, LoadsNothing) {
  const std::string html = HtmlReport({SampleResult(SamplePoint())});
  EXPECT_THAT(html, AllOf(Not(HasSubstr("http://")), Not(HasSubstr("https://")), Not(HasSubstr("url("))));
}

TEST(HtmlReportTest, WhatIsInvalidIsSaidFirst) {
  BenchResult result = SampleResult(SamplePoint());
  result.points[0].invalid = {"the generator fell behind"};
  const std::string html = HtmlReport({result});
  EXPECT_THAT(html, AllOf(HasSubstr("verdict bad"), HasSubstr("Nothing was measured that counts")));
  EXPECT_LT(html.find("INVALID, 8 at once: the generator fell behind"), html.find("<table"));
}

TEST(HtmlReportTest, PartsMayBeMissing) {
  EXPECT_EQ(Unbalanced(HtmlReport({BenchResult()})), "");
  BenchResult bare = SampleResult(LoadPoint());
  EXPECT_EQ(Unbalanced(HtmlReport({bare})), "");
  BenchResult silent = SampleResult(SamplePoint());
  silent.points[0].server.reset();
  EXPECT_THAT(HtmlReport({silent}), Not(HasSubstr("Batches that the server ran")));
}

TEST(HtmlReportTest, SeveralResultsAreComparedWithTheFirst) {
  BenchResult ferry = SampleResult(SamplePoint()), other = SampleResult(SamplePoint(1000, 2));
  ferry.server = other.server = "ferry 1.0";
  const std::string html = HtmlReport({ferry, other});
  EXPECT_THAT(html,
              AllOf(HasSubstr("mlp on 2 servers"), HasSubstr("ferry 1.0 (2)"), HasSubstr("0.50x"), HasSubstr("2.00x")));
  EXPECT_EQ(Unbalanced(html), "");
}

TEST(HgrmReportTest, HasTheColumnsOfHdrHistogram) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.Record(milliseconds(i));
  const std::string text = HgrmReport(histogram);
  EXPECT_THAT(text, AllOf(HasSubstr("Value     Percentile TotalCount 1/(1-Percentile)"),
                          HasSubstr("0.500000000000        500           2.00\n"),
                          HasSubstr("1.000000000000       1000\n"), HasSubstr("Total count    =         1000]")));
  EXPECT_THAT(HgrmReport(LatencyHistogram()), HasSubstr("Total count    =            0]"));
}

}  // namespace
}  // namespace ferry
