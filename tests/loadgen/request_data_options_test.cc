#include "loadgen/request_data_options.h"

#include <gmock/gmock.h>

namespace ferry {
namespace {

using ::testing::ElementsAre;

TEST(RequestDataOptionsTest, ParsesShapesOfNamesWithColons) {
  const auto shape = ParseShapeOption("serving_default_x:0:3,224,224").value();
  EXPECT_EQ(shape.first, "serving_default_x:0");
  EXPECT_THAT(shape.second, ElementsAre(3, 224, 224));
  EXPECT_THAT(ParseShapeOption("x:0").value().second, ElementsAre(0));
}

TEST(RequestDataOptionsTest, RefusesWhatIsNoShape) {
  for (const char* const text : {"x", ":3", "x:", "x:3,", "x:-1", "x:3,a", "x:03"}) {
    EXPECT_EQ(ParseShapeOption(text).status().message(),
              std::string("--shape '") + text +
                  "': expected NAME:EXTENT,EXTENT,... with extents of 0 or more, as in image:3,224,224");
  }
  EXPECT_EQ(ParseShapeOption("x:9223372036854775807,2").status().message(),
            "--shape 'x:9223372036854775807,2': too many elements");
}

TEST(RequestDataOptionsTest, ParsesRanges) {
  const auto range = ParseRangeOption("input_ids:0,30522").value();
  EXPECT_EQ(range.first, "input_ids");
  EXPECT_EQ(range.second.low, "0");
  EXPECT_EQ(range.second.high, "30522");
  EXPECT_EQ(ParseRangeOption("x:-1.5,0.25").value().second.low, "-1.5");
}

TEST(RequestDataOptionsTest, RefusesWhatIsNoRange) {
  for (const char* const text : {"x", "x:1", "x:2,1", "x:1,1", "x:a,b", "x:0,1,2", "x:0,inf"}) {
    EXPECT_EQ(
        ParseRangeOption(text).status().message(),
        std::string("range '") + text + "': expected NAME:LOW,HIGH with LOW less than HIGH, as in input_ids:0,30522");
  }
}

TEST(RequestDataOptionsTest, ParsesRequestParametersOfEachType) {
  EXPECT_EQ(std::get<bool>(ParseRequestParameter("flag:true:bool").value().value), true);
  EXPECT_EQ(std::get<int64_t>(ParseRequestParameter("top_k:-7:int").value().value), -7);
  EXPECT_EQ(std::get<double>(ParseRequestParameter("heat:0.5:double").value().value), 0.5);
  const RequestParameter text = ParseRequestParameter("url:http://x:80:string").value();
  EXPECT_EQ(text.name, "url");
  EXPECT_EQ(std::get<std::string>(text.value), "http://x:80");
}

TEST(RequestDataOptionsTest, RefusesWhatIsNoRequestParameter) {
  EXPECT_EQ(ParseRequestParameter("top_k:7").status().message(),
            "request parameter 'top_k:7': expected NAME:VALUE:TYPE");
  EXPECT_EQ(ParseRequestParameter("top_k:7:long").status().message(),
            "request parameter 'top_k:7:long': type 'long' is not one of bool, int, double, string");
  EXPECT_EQ(ParseRequestParameter("top_k:many:int").status().message(),
            "request parameter 'top_k:many:int': the value is not of the type given");
}

}  // namespace
}  // namespace ferry
