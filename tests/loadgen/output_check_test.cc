#include "loadgen/output_check.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "grpc_service.pb.h"
#include "loadgen/half_precision.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const OutputComparison kExact{};
const OutputComparison kArgmax{OutputComparison::Kind::kArgmax, 0, 0};

OutputComparison Tolerance(double relative, double absolute) {
  return {OutputComparison::Kind::kTolerance, relative, absolute};
}

template <typename Value>
NamedTensor Tensor(DataType type, Shape shape, const std::vector<Value>& values) {
  return {"y", type, std::move(shape), {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)}};
}

NamedTensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor(DataType::kFp32, std::move(shape), values);
}

NamedTensor Strings(const std::vector<std::string>& elements) {
  NamedTensor tensor{"y", DataType::kBytes, {static_cast<int64_t>(elements.size())}, {}};
  for (const std::string& element : elements) AppendBytesElement(element, tensor.bytes);
  return tensor;
}

// Empty when there is none.
std::string Difference(const NamedTensor& expected, const NamedTensor& actual, const OutputComparison& comparison) {
  return FindDifference({expected}, {actual}, comparison).value_or("");
}

TEST(OutputCheckTest, EqualBytesAreExact) {
  EXPECT_EQ(Difference(Floats({2}, {1, NAN}), Floats({2}, {1, NAN}), kExact), "");
  EXPECT_EQ(Difference(Strings({"a", ""}), Strings({"a", ""}), kExact), "");
}

TEST(OutputCheckTest, SaysWhereTheFirstDifferenceIsAndBothValues) {
  EXPECT_EQ(Difference(Floats({2, 2}, {1, 2, 3, 4}), Floats({2, 2}, {1, 2, 3.5, 5}), kExact),
            "output 'y' [1,0]: 3.5 instead of 3");
  EXPECT_EQ(Difference(Floats({}, {1}), Floats({}, {1.0000001F}), kExact), "output 'y' []: 1.0000001 instead of 1");
  EXPECT_EQ(Difference(Strings({"a", "b", "c"}), Strings({"a", "x\n", "c"}), kExact),
            "output 'y' [1]: 'x\\x0a' instead of 'b'");
  EXPECT_EQ(Difference(Tensor<int64_t>(DataType::kInt64, {2}, {1, INT64_MAX}),
                       Tensor<int64_t>(DataType::kInt64, {2}, {1, INT64_MAX - 1}), kExact),
            "output 'y' [1]: 9223372036854775806 instead of 9223372036854775807");
  EXPECT_EQ(Difference(Tensor<uint8_t>(DataType::kBool, {1}, {1}), Tensor<uint8_t>(DataType::kBool, {1}, {0}), kExact),
            "output 'y' [0]: 0 instead of 1");
}

TEST(OutputCheckTest, ShapesTypesAndMissingOutputsAreDifferences) {
  EXPECT_EQ(Difference(Floats({2, 1}, {1, 2}), Floats({1, 2}, {1, 2}), kExact),
            "output 'y': shape [1,2] instead of [2,1]");
  EXPECT_EQ(Difference(Floats({1}, {1}), Tensor<int32_t>(DataType::kInt32, {1}, {1}), kExact),
            "output 'y': INT32 instead of FP32");
  EXPECT_EQ(FindDifference({Floats({1}, {1})}, {}, kExact), "output 'y' is missing");
  EXPECT_EQ(FindDifference({}, {Floats({1}, {1})}, kExact), std::nullopt);
}

TEST(OutputCheckTest, OpenExtentsOfAnExpectationMatchAnyButTheNumberOfElementsCounts) {
  EXPECT_EQ(Difference(Floats({1, -1}, {1, 2}), Floats({1, 2}, {1, 2}), kExact), "");
  EXPECT_EQ(Difference(Floats({1, -1}, {1, 2}), Floats({1, 3}, {1, 2, 3}), kExact),
            "output 'y': 3 elements instead of 2");
}

TEST(OutputCheckTest, ToleranceIsAbsolutePlusRelativeToTheExpected) {
  const NamedTensor expected = Floats({2}, {100, 0});
  EXPECT_EQ(Difference(expected, Floats({2}, {101, 0.5}), Tolerance(0.01, 0.5)), "");
  EXPECT_EQ(Difference(expected, Floats({2}, {102, 0}), Tolerance(0.01, 0.5)), "output 'y' [0]: 102 instead of 100");
  EXPECT_EQ(Difference(expected, Floats({2}, {100, -0.625}), Tolerance(0.01, 0.5)),
            "output 'y' [1]: -0.625 instead of 0");
}

TEST(OutputCheckTest, ToleranceIsOfAllFloatTypesAndOfNoOthers) {
  const auto halves = [](float value) { return Tensor<uint16_t>(DataType::kFp16, {1}, {Fp16FromFloat(value)}); };
  const auto brains = [](float value) { return Tensor<uint16_t>(DataType::kBf16, {1}, {Bf16FromFloat(value)}); };
  const auto doubles = [](double value) { return Tensor<double>(DataType::kFp64, {1}, {value}); };
  EXPECT_EQ(Difference(halves(2), halves(2.25), Tolerance(0.125, 0)), "");
  EXPECT_EQ(Difference(halves(2), halves(2.5), Tolerance(0.125, 0)), "output 'y' [0]: 2.5 instead of 2");
  EXPECT_EQ(Difference(brains(2), brains(2.25), Tolerance(0.125, 0)), "");
  EXPECT_EQ(Difference(brains(2), brains(2.5), Tolerance(0.125, 0)), "output 'y' [0]: 2.5 instead of 2");
  EXPECT_EQ(Difference(doubles(2), doubles(2.25), Tolerance(0.125, 0)), "");
  EXPECT_EQ(Difference(Tensor<int32_t>(DataType::kInt32, {1}, {100}), Tensor<int32_t>(DataType::kInt32, {1}, {101}),
                       Tolerance(1, 1)),
            "output 'y' [0]: 101 instead of 100");
}

TEST(OutputCheckTest, NansAndInfinitiesAreOnlyCloseToThemselves) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Difference(Floats({2}, {NAN, infinity}), Floats({2}, {-NAN, infinity}), Tolerance(0.1, 0.1)), "");
  EXPECT_EQ(Difference(Floats({1}, {infinity}), Floats({1}, {1}), Tolerance(0.1, 0.1)),
            "output 'y' [0]: 1 instead of inf");
  EXPECT_EQ(Difference(Floats({1}, {1}), Floats({1}, {NAN}), Tolerance(0.1, 0.1)), "output 'y' [0]: nan instead of 1");
}

TEST(OutputCheckTest, ArgmaxLooksAtEachRow) {
  const NamedTensor expected = Floats({2, 3}, {0, 9, 1, 5, 4, 3});
  EXPECT_EQ(Difference(expected, Floats({2, 3}, {6, 7, 0, 1, 0, 0}), kArgmax), "");
  EXPECT_EQ(Difference(expected, Floats({2, 3}, {0, 9, 1, 3, 4, 5}), kArgmax),
            "output 'y': the greatest element is [1,2] with 5 instead of [1,0] with 3");
  EXPECT_EQ(Difference(Floats({0, 3}, {}), Floats({0, 3}, {}), kArgmax), "");
  EXPECT_EQ(Difference(Floats({3, 0}, {}), Floats({3, 0}, {}), kArgmax), "");
}

TEST(OutputCheckTest, ReadsRawAndTypedOutputs) {
  inference::ModelInferResponse response;
  for (const char* const name : {"raw", "typed", "text"}) response.add_outputs()->set_name(name);
  response.mutable_outputs(0)->set_datatype("UINT8");
  response.mutable_outputs(0)->add_shape(2);
  response.add_raw_output_contents("ab");
  response.mutable_outputs(1)->set_datatype("INT16");
  response.mutable_outputs(1)->add_shape(1);
  response.mutable_outputs(1)->mutable_contents()->add_int_contents(-2);
  response.mutable_outputs(2)->set_datatype("BYTES");
  response.mutable_outputs(2)->add_shape(1);
  response.mutable_outputs(2)->mutable_contents()->add_bytes_contents("hi");
  const auto outputs = OutputsOf(response).value();
  ASSERT_THAT(outputs, SizeIs(3));
  EXPECT_EQ(outputs[0].bytes, "ab");
  EXPECT_EQ(outputs[1].bytes, "\xfe\xff");
  EXPECT_THAT(outputs[1].shape, ElementsAre(1));
  EXPECT_EQ(outputs[2].bytes, std::string("\2\0\0\0hi", 6));
}

TEST(OutputCheckTest, EmptyContentsBesideRawOnesAreNone) {
  inference::ModelInferResponse response;  // as MLServer answers
  auto& output = *response.add_outputs();
  output.set_name("y");
  output.set_datatype("INT8");
  output.add_shape(2);
  output.mutable_contents();
  response.add_raw_output_contents("ab");
  EXPECT_EQ(OutputsOf(response).value()[0].bytes, "ab");
}

TEST(OutputCheckTest, AnswersThatDoNotFitTogetherAreErrors) {
  inference::ModelInferResponse response;
  auto& output = *response.add_outputs();
  output.set_name("y");
  output.set_datatype("FP32");
  output.add_shape(2);
  EXPECT_EQ(OutputsOf(response).status().message(), "output 'y' has no contents");
  response.add_raw_output_contents("abcd");
  EXPECT_EQ(OutputsOf(response).status().message(), "output 'y': 4 bytes are no FP32 [2]");
  output.set_datatype("FP33");
  EXPECT_EQ(OutputsOf(response).status().message(), "output 'y': unknown datatype 'FP33'");
}

TEST(OutputCheckTest, ParsesComparisons) {
  EXPECT_EQ(ParseOutputComparison("exact").value().kind, OutputComparison::Kind::kExact);
  EXPECT_EQ(ParseOutputComparison("argmax").value().kind, OutputComparison::Kind::kArgmax);
  const OutputComparison both = ParseOutputComparison("tolerance:1e-3,0.5").value();
  EXPECT_EQ(both.kind, OutputComparison::Kind::kTolerance);
  EXPECT_EQ(both.relative, 1e-3);
  EXPECT_EQ(both.absolute, 0.5);
  EXPECT_EQ(ParseOutputComparison("tolerance:1").value().absolute, 0);
  for (const char* const text : {"", "close", "tolerance:", "tolerance:-1", "tolerance:1,2,3", "tolerance:1,"}) {
    EXPECT_EQ(ParseOutputComparison(text).status().message(),
              std::string("output check '") + text +
                  "': expected exact, argmax or tolerance:RELATIVE[,ABSOLUTE] as in tolerance:1e-3,1e-5");
  }
}

}  // namespace
}  // namespace ferry
