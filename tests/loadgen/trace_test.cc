#include "loadgen/trace.h"

#include <gmock/gmock.h>

#include <sstream>

namespace ferry {

bool operator==(const TraceRequest& a, const TraceRequest& b) { return a.at == b.at && a.class_name == b.class_name; }

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<TraceRequest> Read(const std::string& csv, const TraceOptions& options = {}) {
  std::istringstream stream(csv);
  auto requests = ReadTrace(stream, options);
  EXPECT_TRUE(requests.ok()) << requests.status().ToString();
  return requests.ok() ? *std::move(requests) : std::vector<TraceRequest>{};
}

std::string ErrorOf(const std::string& csv, const TraceOptions& options = {}) {
  std::istringstream stream(csv);
  return ReadTrace(stream, options).status().message();
}

TEST(TraceTest, ReadsItsOwnFormatInOrderOfTime) {
  EXPECT_THAT(Read("t_ms,class\n20.5,long\n3,short\r\n\n3,other\n"),
              ElementsAre(TraceRequest{milliseconds(3), "short"}, TraceRequest{milliseconds(3), "other"},
                          TraceRequest{microseconds(20'500), "long"}));
  EXPECT_THAT(Read("t_ms\n7"), ElementsAre(TraceRequest{milliseconds(7), ""}));
}

TEST(TraceTest, SpeedAndClipAreInTheTimeOfTheLoad) {
  TraceOptions options;
  options.speed = 2;
  options.clip = milliseconds(50);
  EXPECT_THAT(Read("t_ms\n40\n99\n100\n200", options),
              ElementsAre(TraceRequest{milliseconds(20), ""}, TraceRequest{microseconds(49'500), ""}));
}

TEST(TraceTest, SpreadsAzureFunctionsOf2019OverTheirMinutes) {
  const std::string csv =
      "HashOwner,HashApp,HashFunction,Trigger,1,2,3\n"
      "o,a,f1,http,0,3000,0\n"
      "o,a,f2,timer,1,0,2\n";
  const auto requests = Read(csv);
  ASSERT_THAT(requests, SizeIs(3003));
  EXPECT_EQ(requests.front().class_name, "f2");
  EXPECT_LT(requests.front().at, seconds(60));
  double sum = 0;
  for (size_t i = 1; i <= 3000; ++i) {
    EXPECT_EQ(requests[i].class_name, "f1");
    sum += std::chrono::duration<double>(requests[i].at).count();
  }
  EXPECT_GE(requests[1].at, seconds(60));
  EXPECT_LT(requests[3000].at, seconds(120));
  EXPECT_NEAR(sum / 3000, 90, 1);
  EXPECT_GE(requests[3001].at, seconds(120));
  EXPECT_EQ(Read(csv), requests);
  TraceOptions other_seed;
  other_seed.seed = 2;
  EXPECT_NE(Read(csv, other_seed), requests);
}

TEST(TraceTest, AzureFunctionsOf2021AreDueWhenTheyStart) {
  EXPECT_THAT(Read("app,func,end_timestamp,duration\n"
                   "a,f,10.5,10.25\n"
                   "a,g,2.0,0.25\n"
                   "a,h,1.5,1.5\n"),
              ElementsAre(TraceRequest{seconds(0), "h"}, TraceRequest{milliseconds(250), "f"},
                          TraceRequest{milliseconds(1750), "g"}));
}

TEST(TraceTest, AzureLlmTimesCountFromTheFirst) {
  EXPECT_THAT(Read("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                   "2023-11-16 23:59:59.6805900,374,44\n"
                   "2023-11-17 00:00:00.1805901,396,109\n"
                   "2023-11-17 00:00:01+00:00,1,1\n"),
              ElementsAre(TraceRequest{seconds(0), ""}, TraceRequest{std::chrono::nanoseconds(500'000'100), ""},
                          TraceRequest{std::chrono::nanoseconds(1'319'410'000), ""}));
}

TEST(TraceTest, ErrorsNameTheLine) {
  EXPECT_EQ(ErrorOf("t_ms,class\n1,a\nx,b\n"), "line 3: t_ms 'x' is not a number of 0 or more");
  EXPECT_EQ(ErrorOf("t_ms,class\n\n1\n"), "line 3: 1 fields where the header has 2");
  EXPECT_EQ(ErrorOf("t_ms\n-1\n"), "line 2: t_ms '-1' is not a number of 0 or more");
  EXPECT_EQ(ErrorOf("HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,t,1,1.5\n"),
            "line 2: minute 2: '1.5' is not a number of 0 or more");
  EXPECT_EQ(ErrorOf("app,func,end_timestamp,duration\na,f,x,1\n"),
            "line 2: end_timestamp 'x' is not a number of 0 or more");
  EXPECT_EQ(ErrorOf("app,func,end_timestamp,duration\na,f,1,\n"), "line 2: duration '' is not a number of 0 or more");
  for (const char* const time : {"", "yesterday", "2023-13-16 18:15:46", "2023-11-16 25:15:46", "2023-11-16 18:15"}) {
    EXPECT_EQ(ErrorOf(std::string("TIMESTAMP,ContextTokens,GeneratedTokens\n") + time + ",1,1\n"),
              std::string("line 2: TIMESTAMP '") + time + "' is no time such as 2023-11-16 18:15:46.6805900");
  }
}

TEST(TraceTest, UnknownHeadersNoRequestsAndNoSpeedAreErrors) {
  EXPECT_THAT(ErrorOf("time,who\n1,a\n"), StartsWith("line 1: header 'time,who' is none of t_ms[,class], HashOwner,"));
  EXPECT_THAT(ErrorOf(""), StartsWith("line 1: header ''"));
  EXPECT_EQ(ErrorOf("t_ms\n"), "the trace has no requests");
  TraceOptions options;
  options.speed = 0;
  EXPECT_EQ(ErrorOf("t_ms\n1\n", options), "trace speed 0 is not above 0");
}

TEST(ReadIntervalsTest, ReadsMicrosecondsALine) {
  std::istringstream text("1500\n\n0\n250\n");
  EXPECT_THAT(ReadIntervals(text).value(), ElementsAre(microseconds(1500), microseconds(0), microseconds(250)));
  for (const char* const wrong : {"", "0\n", "1\nx\n", "-5\n"}) {
    std::istringstream lines(wrong);
    EXPECT_FALSE(ReadIntervals(lines).ok()) << wrong;
  }
}

TEST(AssignClassesTest, ANameOfTheMixIsThatClassAndFunctionsTakeTurns) {
  const std::vector<TraceRequest> trace = {{{}, "large"}, {{}, "f1"}, {{}, "f2"}, {{}, "f1"}, {{}, "f3"}, {{}, ""}};
  EXPECT_THAT(AssignClasses(trace, {"small", "large"}), ElementsAre(1, 0, 1, 0, 0, std::nullopt));
}

}  // namespace
}  // namespace ferry
