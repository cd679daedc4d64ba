#include "loadgen/bench_options.h"

#include "support/status_matchers.h"

namespace ferry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

MeasureOptions Measure(const std::vector<std::string>& arguments) {
  return std::get<MeasureOptions>(ParseBenchCommand(arguments).value());
}

TEST(BenchOptionsTest, ReadsRanges) {
  EXPECT_THAT(ParseRange("8").value(), ElementsAre(8));
  EXPECT_THAT(ParseRange("1,4,16").value(), ElementsAre(1, 4, 16));
  EXPECT_THAT(ParseRange("2:6:2").value(), ElementsAre(2, 4, 6));
  EXPECT_THAT(ParseRange("1:3").value(), ElementsAre(1, 2, 3));
  EXPECT_THAT(ParseRange("1:64:x4").value(), ElementsAre(1, 4, 16, 64));
  for (const char* wrong : {"", "x", "4:2", "1:2:0", "0", "-1", "1:8:x1", "1:2:3:4", "1:1e9:1"}) {
    EXPECT_THAT(ParseRange(wrong), HasStatus(StatusCode::kInvalidArgument, HasSubstr(""))) << wrong;
  }
}

TEST(BenchOptionsTest, ReadsACommandLineOfPerfAnalyzer) {
  const MeasureOptions options = Measure({"-m", "mlp", "-u", "host:1", "-i", "grpc", "--async", "-b", "2", "-p", "3000",
                                          "--concurrency-range", "1:8:1", "--shape", "x:3,4", "-f", "out.csv"});
  EXPECT_EQ(options.model, "mlp");
  EXPECT_EQ(options.url, "host:1");
  EXPECT_EQ(options.batch, 2);
  EXPECT_EQ(options.duration, seconds(3));
  EXPECT_EQ(options.concurrencies.size(), 8u);
  EXPECT_THAT(options.shapes, ElementsAre("x:3,4"));
  EXPECT_EQ(options.csv, "out.csv");
}

TEST(BenchOptionsTest, RefusesWhatContradictsItself) {
  const auto refused = [](const std::vector<std::string>& arguments, const char* why) {
    EXPECT_THAT(ParseBenchCommand(arguments), HasStatus(StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused({}, "--model-name (-m) or --mix is needed");
  refused({"-m", "mlp", "--concurrency-range", "1", "--request-rate-range", "5"}, "only one of");
  refused({"-m", "mlp", "--concurrency-range", "1.5"}, "must be whole");
  refused({"-m", "mlp", "-i", "http"}, "grpc");
  refused({"-m", "mlp", "--scenario", "batch"}, "single-stream");
  refused({"-m", "mlp", "--scenario", "server"}, "--latency-threshold");
  refused({"-m", "mlp", "--scenario", "offline", "--concurrency-range", "4"}, "sets the load itself");
  refused({"-m", "mlp", "--request-rate-range", "4", "-l", "50"}, "only one of");
  refused({"-m", "mlp", "--duration", "0"}, "--duration: must be greater");
  refused({"-m", "mlp", "--wait-when-full"}, "only with --max-outstanding");
  refused({"-m", "mlp", "--colour", "red"}, "--colour");
  refused({"-m", "mlp", "--cancel", "2,5ms"}, "--cancel");
  refused({"-m", "mlp", "--streaming", "--deadline", "5ms"}, "--streaming");
  refused({"-m", "mlp", "--verify", "exact"}, "--verify");
  refused({"compare"}, "--baseline");
}

TEST(BenchOptionsTest, HelpAndVersionAreTexts) {
  EXPECT_THAT(std::get<BenchText>(ParseBenchCommand({"--help"}).value()).text,
              ::testing::AllOf(HasSubstr("--request-rate-range"), HasSubstr("Exit codes")));
  EXPECT_THAT(std::get<BenchText>(ParseBenchCommand({"--version"}).value()).text, HasSubstr("ferry-bench "));
}

}  // namespace
}  // namespace ferry
