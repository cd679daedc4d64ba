#include "loadgen/json_data.h"

#include <gmock/gmock.h>

#include <cstring>

#include "loadgen/half_precision.h"
#include "loadgen/json_elements.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ModelDescription Model(DataType type, Shape shape) {
  ModelDescription model;
  model.name = "m";
  model.inputs = {{"x", type, std::move(shape), false}, {"bias", DataType::kFp32, {1}, true}};
  model.outputs = {{"y", DataType::kInt32, {-1, 2}, false}, {"z", DataType::kInt32, {-1, -1}, false}};
  model.batched = true;
  return model;
}

template <typename Value>
std::string Raw(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

std::vector<DataStep> Steps(std::string_view json, DataType type, Shape shape, const ShapesByName& shapes = {}) {
  auto steps = ParseJsonSteps(json, Model(type, std::move(shape)), shapes);
  EXPECT_TRUE(steps.ok()) << steps.status().ToString();
  return steps.ok() ? *std::move(steps) : std::vector<DataStep>(8);
}

std::string BytesOf(std::string_view elements, DataType type) {
  const std::string json = R"({"data": [{"x": )" + std::string(elements) + "}]}";
  return Steps(json, type, {-1})[0].inputs[0].bytes;
}

std::string ErrorOf(std::string_view json, DataType type = DataType::kInt32, Shape shape = {2}) {
  return ParseJsonSteps(json, Model(type, std::move(shape)), {}).status().message();
}

TEST(JsonDataTest, ReadsFlatNestedAndStreamedSteps) {
  const auto steps =
      Steps(R"({"data": [{"x": [1, 2]}, [{"x": [[3], [4]]}, [{"x": {"content": [5, 6]}}]]]})", DataType::kInt32, {2});
  ASSERT_THAT(steps, SizeIs(3));
  EXPECT_EQ(steps[0].inputs[0].bytes, Raw<int32_t>({1, 2}));
  EXPECT_EQ(steps[1].inputs[0].bytes, Raw<int32_t>({3, 4}));
  EXPECT_EQ(steps[2].inputs[0].bytes, Raw<int32_t>({5, 6}));
  EXPECT_THAT(steps[0].inputs, SizeIs(1)) << "the optional input has no data";
  EXPECT_THAT(steps[0].expected, IsEmpty());
}

TEST(JsonDataTest, WritesElementsOfEveryType) {
  EXPECT_EQ(BytesOf("[true, 0, 1]", DataType::kBool), Raw<uint8_t>({1, 0, 1}));
  EXPECT_EQ(BytesOf("[255]", DataType::kUint8), Raw<uint8_t>({255}));
  EXPECT_EQ(BytesOf("[65535]", DataType::kUint16), Raw<uint16_t>({65535}));
  EXPECT_EQ(BytesOf("[4294967295]", DataType::kUint32), Raw<uint32_t>({4294967295}));
  EXPECT_EQ(BytesOf("[18446744073709551615]", DataType::kUint64), Raw<uint64_t>({UINT64_MAX}));
  EXPECT_EQ(BytesOf("[-128]", DataType::kInt8), Raw<int8_t>({-128}));
  EXPECT_EQ(BytesOf("[-32768]", DataType::kInt16), Raw<int16_t>({-32768}));
  EXPECT_EQ(BytesOf("[-9223372036854775808]", DataType::kInt64), Raw<int64_t>({INT64_MIN}));
  EXPECT_EQ(BytesOf("[0.1, 2]", DataType::kFp32), Raw<float>({0.1F, 2}));
  EXPECT_EQ(BytesOf("[0.1]", DataType::kFp64), Raw<double>({0.1}));
  EXPECT_EQ(BytesOf("[1.5]", DataType::kFp16), Raw<uint16_t>({0x3e00}));
  EXPECT_EQ(BytesOf("[1.5]", DataType::kBf16), Raw<uint16_t>({0x3fc0}));
  EXPECT_EQ(BytesOf(R"(["ab", ""])", DataType::kBytes), std::string("\2\0\0\0ab\0\0\0\0", 10));
}

TEST(JsonDataTest, ReadsRawContentsFromBase64) {
  const auto steps = Steps(R"({"data": [{"x": {"b64": "AQAAAAIAAAA="}},
                                        {"x": {"content": {"b64": "AwAAAA=="}, "shape": [1]}}]})",
                           DataType::kInt32, {-1});
  EXPECT_EQ(steps[0].inputs[0].bytes, Raw<int32_t>({1, 2}));
  EXPECT_THAT(steps[0].inputs[0].shape, ElementsAre(2));
  EXPECT_EQ(steps[1].inputs[0].bytes, Raw<int32_t>({3}));
}

TEST(JsonDataTest, AShapeInTheDataGoesBeforeTheOneOfTheFlag) {
  const auto steps = Steps(R"({"data": [{"x": {"content": [1, 2, 3, 4], "shape": [1, 4]}}, {"x": [1, 2, 3, 4]}]})",
                           DataType::kInt32, {-1, -1}, {{"x", {2, 2}}});
  EXPECT_THAT(steps[0].inputs[0].shape, ElementsAre(1, 4));
  EXPECT_THAT(steps[1].inputs[0].shape, ElementsAre(2, 2));
}

TEST(JsonDataTest, OneOpenExtentFollowsFromTheNumberOfElements) {
  const auto steps = Steps(R"({"data": [{"x": [1, 2, 3, 4, 5, 6]}]})", DataType::kInt32, {2, -1});
  EXPECT_THAT(steps[0].inputs[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2, 3]}]})", DataType::kInt32, {2, -1}),
            "\"data\" step 0: input 'x': input 'x' has the variable shape [2,-1]: set it with --shape x:2,N");
}

TEST(JsonDataTest, ReadsWhatOutputsShouldBeAndLeavesTheirOpenExtentsOpen) {
  const auto steps = Steps(R"({"data": [{"x": [1, 2]}, {"x": [1, 2]}],
                               "validation_data": [{"y": [1, 2, 3, 4], "z": [7, 8]}, {}]})",
                           DataType::kInt32, {2});
  ASSERT_THAT(steps[0].expected, SizeIs(2));
  EXPECT_EQ(steps[0].expected[0].name, "y");
  EXPECT_THAT(steps[0].expected[0].shape, ElementsAre(2, 2));
  EXPECT_THAT(steps[0].expected[1].shape, ElementsAre(-1, -1));
  EXPECT_EQ(steps[0].expected[1].bytes, Raw<int32_t>({7, 8}));
  EXPECT_THAT(steps[1].expected, IsEmpty());
}

TEST(JsonDataTest, ErrorsNameTheStepAndTheTensor) {
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2]}, {"bias": [1]}]})"), "\"data\" step 1: input 'x' is missing");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2], "w": [1]}]})"),
            "\"data\" step 0: the model has no input 'w', but x, bias");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2, 3]}]})"),
            "\"data\" step 0: input 'x': 3 elements do not make the shape [2] of one row");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2.5]}]})"), "\"data\" step 0: input 'x': 2.5 is no value of INT32");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2147483648]}]})"),
            "\"data\" step 0: input 'x': 2147483648 is no value of INT32");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, "a"]}]})"), "\"data\" step 0: input 'x': \"a\" is no value of INT32");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": {"content": [1, 2], "shape": [1, 2]}}]})"),
            "\"data\" step 0: input 'x': shape [1,2] does not fit the model's [2]");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": {"content": [1, 2], "shape": [-2]}}]})"),
            "\"data\" step 0: input 'x': \"shape\" is no array of extents of 0 or more");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": {"b64": "AQI="}}]})"),
            "\"data\" step 0: input 'x': 2 bytes are no whole number of elements of INT32");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": {"b64": "A"}}]})"), "\"data\" step 0: input 'x': \"b64\" is not base64");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": 1}]})"),
            "\"data\" step 0: input 'x': expected an array, {\"b64\": \"..\"} or {\"content\": .., \"shape\": [..]}");
}

TEST(JsonDataTest, ErrorsOfTheWholeDocument) {
  EXPECT_THAT(ErrorOf("{\"data\": ["), HasSubstr("parse error at line 1"));
  EXPECT_EQ(ErrorOf("{}"), "\"data\" has no steps");
  EXPECT_EQ(ErrorOf(R"({"data": 1})"), "\"data\": expected an array");
  EXPECT_EQ(ErrorOf(R"({"data": [1]})"), "\"data\" step 0: expected an object");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2]}], "validation_data": [{}, {}]})"),
            "\"validation_data\" has 2 steps and \"data\" 1: each needs its own");
  EXPECT_EQ(ErrorOf(R"({"data": [{"x": [1, 2]}], "validation_data": [{"x": [1]}]})"),
            "\"validation_data\" step 0: the model has no output 'x', but y, z");
}

TEST(JsonDataTest, FloatsThatTheTypeCannotHoldAreErrors) {
  EXPECT_THAT(ErrorOf(R"({"data": [{"x": [1, 70000]}]})", DataType::kFp16), HasSubstr("70000 is no value of FP16"));
  EXPECT_THAT(ErrorOf(R"({"data": [{"x": [1, 1e39]}]})", DataType::kFp32), HasSubstr("1e+39 is no value of FP32"));
}

TEST(JsonDataTest, DecodesBase64WithItsPadding) {
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("Zg=="), "f");
  EXPECT_EQ(DecodeBase64("Zm8="), "fo");
  EXPECT_EQ(DecodeBase64("Zm9v"), "foo");
  EXPECT_EQ(DecodeBase64("/+8="), "\xff\xef");
  for (const char* const text : {"Z", "Zg=", "Zg", "Z===", "Zg==Zg==", "Zm9-"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ferry
