#include "frontend/request_validator.h"

#include <limits>

#include "support/requests.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = StatusCode::kInvalidArgument;

// x [4] and z [-1], outputs y [4] and w [4]; at most 8 rows.
ModelConfig TwoInputs() {
  ModelConfig config = MakeConfig(8, {4});
  config.inputs.push_back({"z", DataType::kInt64, {-1}, {}, {}});
  config.outputs.push_back({"w", DataType::kFp32, {4}, {}, {}});
  return config;
}

class RequestValidatorTest : public ::testing::Test {
 protected:
  WireInput Input(std::string_view name, std::string_view datatype, Shape shape, size_t bytes) {
    return {name, datatype, std::move(shape), {}, Bytes(memory_, bytes), Status()};
  }
  // A valid request of two rows.
  WireRequest Good() {
    WireRequest request;
    request.inputs = {Input("x", "FP32", {2, 4}, 32), Input("z", "INT64", {2, 3}, 48)};
    return request;
  }
  Result<ValidRequest> Validate(const WireRequest& request) { return ValidateRequest(config_, request); }

  ModelConfig config_ = TwoInputs();
  std::byte memory_[4096] = {};
};

TEST_F(RequestValidatorTest, AnOptionalInputMayBeLeftOut) {
  WireRequest request = Good();
  request.inputs.erase(request.inputs.begin());
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("missing required input(s) ['x']")));
  config_.inputs[0].optional = true;
  const Result<ValidRequest> valid = Validate(request);
  ASSERT_THAT(valid, IsOk());
  EXPECT_EQ(valid->rows, 2);
  EXPECT_EQ(valid->inputs[0].type, DataType::kInvalid);
  config_.inputs[1].optional = true;
  request.inputs.clear();
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("expected 2 inputs but got 0")));
}

TEST_F(RequestValidatorTest, PriorityAndTimeoutAreRead) {
  WireRequest request = Good();
  request.parameters = {{"priority", uint64_t{2}}, {"timeout", int64_t{500}}};
  EXPECT_EQ(Validate(request)->queue.priority, 2u);
  EXPECT_EQ(Validate(request)->queue.timeout, std::chrono::microseconds(500));
  request.parameters = {{"timeout", std::numeric_limits<uint64_t>::max()}};
  EXPECT_EQ(Validate(request)->queue.timeout, std::chrono::hours(24 * 36525));
}

TEST_F(RequestValidatorTest, AcceptsAndOrdersAsConfigured) {
  WireRequest request = Good();
  std::swap(request.inputs[0], request.inputs[1]);
  const Result<ValidRequest> valid = Validate(request);
  ASSERT_THAT(valid, IsOk());
  EXPECT_EQ(valid->rows, 2);
  EXPECT_EQ(valid->inputs[0].type, DataType::kFp32);
  EXPECT_EQ(valid->inputs[1].shape, (Shape{2, 3}));
  EXPECT_THAT(valid->outputs, ElementsAre(0, 1));
}

TEST_F(RequestValidatorTest, AnswersTheOutputsAskedForInTheirOrder) {
  WireRequest request = Good();
  request.outputs = {{"w", {}}, {"y", {}}};
  EXPECT_THAT(Validate(request).value().outputs, ElementsAre(1, 0));
}

TEST_F(RequestValidatorTest, UnknownOutput) {
  WireRequest request = Good();
  request.outputs = {{"y", {}}, {"potato", {}}};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("unexpected inference output 'potato'")));
}

TEST_F(RequestValidatorTest, Duplicates) {
  WireRequest request = Good();
  request.inputs[1] = request.inputs[0];
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("input 'x' already exists")));
  request = Good();
  request.outputs = {{"y", {}}, {"y", {}}};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("output 'y' already exists")));
}

TEST_F(RequestValidatorTest, MissingAndUnknownInputs) {
  WireRequest request = Good();
  request.inputs.pop_back();
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, AllOf(HasSubstr("expected 2 inputs but got 1"), HasSubstr("['x']"),
                                                           HasSubstr("missing required input(s) ['z']"))));
  request = Good();
  request.inputs[1].name = "q";
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("unexpected inference input 'q'")));
}

TEST_F(RequestValidatorTest, TypesMustMatch) {
  for (const char* type : {"INT32", "FP33", "BYTES", ""}) {
    WireRequest request = Good();
    request.inputs[0].datatype = type;
    EXPECT_THAT(Validate(request),
                HasStatus(kInvalid, AllOf(HasSubstr("input 'x' data-type is"), HasSubstr("'FP32'"))));
  }
}

// B016: the message says what is expected, what came, and what is usually forgotten.
TEST_F(RequestValidatorTest, ShapesMustMatch) {
  WireRequest request = Good();
  request.inputs[0] = Input("x", "FP32", {2, 4, 1}, 32);
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, AllOf(HasSubstr("Expected [-1,4]"), HasSubstr("got [2,4,1]"),
                                                           HasSubstr("batch dimension"))));
}

TEST_F(RequestValidatorTest, BatchExtents) {
  WireRequest request = Good();
  request.inputs[0].shape = {};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("requires batch dimension")));
  request = Good();
  request.inputs[1] = Input("z", "INT64", {3, 3}, 72);
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("does not match other inputs")));
  request.inputs = {Input("x", "FP32", {9, 4}, 144), Input("z", "INT64", {9, 3}, 216)};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("must be <= 8")));
  request.inputs = {Input("x", "FP32", {0, 4}, 0), Input("z", "INT64", {0, 3}, 0)};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("at least 1")));
}

// B028
TEST_F(RequestValidatorTest, NegativeExtents) {
  for (const Shape& shape :
       {Shape{-1, 4}, Shape{2, -4}, Shape{-1, -4}, Shape{2, std::numeric_limits<int64_t>::min()}}) {
    WireRequest request = Good();
    request.inputs[1].shape = shape;
    EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("'z'")));
  }
}

// B029, B031: products that wrap, or that no memory could hold.
TEST_F(RequestValidatorTest, OverflowingShapes) {
  config_ = MakeConfig(8, {-1, -1});
  const int64_t quarter = int64_t{1} << 62;
  for (const Shape& shape : {Shape{1, 4294967296, 4294967296}, Shape{1, quarter, 4}, Shape{1, quarter + 1, 4},
                             Shape{1, 3037000500, 3037000500}}) {
    for (const size_t bytes : {0, 16}) {
      WireRequest request;
      request.inputs = {Input("x", "FP32", shape, bytes)};
      EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("shape"))) << ShapeToString(shape);
    }
  }
  WireRequest request;
  request.inputs = {Input("x", "FP32", {1, 1, 250'000'000'000}, 16)};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("Expected 1000000000000, got 16")));
}

TEST_F(RequestValidatorTest, SizesMustMatch) {
  for (const size_t bytes : {0, 31, 33}) {
    WireRequest request = Good();
    request.inputs[0].data = Bytes(memory_, bytes);
    EXPECT_THAT(Validate(request), HasStatus(kInvalid, AllOf(HasSubstr("'x'"), HasSubstr("Expected 32"))));
  }
}

TEST_F(RequestValidatorTest, MissingDataIsReported) {
  WireRequest request = Good();
  request.inputs[1].data_status = InvalidArgumentError("unable to find data");
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, "unable to find data"));
}

TEST_F(RequestValidatorTest, ZeroSizedTensorsAreLegalBehindTheBatch) {
  WireRequest request = Good();
  request.inputs[1] = Input("z", "INT64", {2, 0}, 0);
  EXPECT_THAT(Validate(request), IsOk());
}

TEST_F(RequestValidatorTest, WithoutBatchExtentTheShapeIsTheConfigured) {
  config_ = MakeConfig(0, {4});
  WireRequest request;
  request.inputs = {Input("x", "FP32", {4}, 16)};
  EXPECT_EQ(Validate(request).value().rows, 1);
  request.inputs = {Input("x", "FP32", {1, 4}, 16)};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, AllOf(HasSubstr("Expected [4]"), HasSubstr("got [1,4]"))));
}

TEST_F(RequestValidatorTest, OfSeveralFaultsTheFirstIsReported) {
  WireRequest request = Good();
  request.inputs[0].datatype = "INT8";
  request.inputs[1].datatype = "INT8";
  request.inputs[1].shape = {2, -3};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("'x'")));
  std::swap(request.inputs[0], request.inputs[1]);
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("'z' data-type")));
}

TEST_F(RequestValidatorTest, KnownParametersHaveTypes) {
  const auto with = [&](std::string_view name, WireValue value) {
    WireRequest request = Good();
    request.parameters = {{name, value}};
    return Validate(request);
  };
  EXPECT_THAT(with("priority", uint64_t{2}), IsOk());
  EXPECT_THAT(with("priority", int64_t{2}), IsOk());
  EXPECT_THAT(with("priority", int64_t{-1}), HasStatus(kInvalid, HasSubstr("-1")));
  EXPECT_THAT(with("timeout", std::string_view("5")), HasStatus(kInvalid, HasSubstr("'timeout'")));
  EXPECT_THAT(with("triton_enable_empty_final_response", true), IsOk());
  EXPECT_THAT(with("triton_other", true), HasStatus(kInvalid, HasSubstr("'triton_other'")));
  EXPECT_THAT(with("mine", 0.5), IsOk());
  EXPECT_THAT(with("mine", uint64_t{5}), HasStatus(kInvalid, HasSubstr("'mine'")));
}

TEST_F(RequestValidatorTest, SharedMemoryIsNotOffered) {
  WireRequest request = Good();
  request.inputs[0].parameters = {{"shared_memory_region", std::string_view("r")}};
  EXPECT_THAT(Validate(request), HasStatus(StatusCode::kUnimplemented, HasSubstr("shared memory")));
  request = Good();
  request.outputs = {{"y", {{"shared_memory_region", std::string_view("r")}}}};
  EXPECT_THAT(Validate(request), HasStatus(StatusCode::kUnimplemented, HasSubstr("shared memory")));
}

TEST_F(RequestValidatorTest, Classification) {
  WireRequest request = Good();
  request.outputs = {{"y", {{"classification", int64_t{3}}}}};
  EXPECT_THAT(Validate(request).value().top_classes, ElementsAre(3));
  request.outputs = {{"y", {{"classification", int64_t{0}}}}};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("at least 1")));
  config_.outputs[0].type = DataType::kBf16;
  request.outputs = {{"y", {{"classification", int64_t{1}}}}};
  EXPECT_THAT(Validate(request), HasStatus(kInvalid, HasSubstr("BF16")));
}

// B043: a caller may list what it likes; the answer stays small and quick.
TEST_F(RequestValidatorTest, EnormousListsAreRefusedBriefly) {
  WireRequest request = Good();
  std::vector<std::string> names;
  for (int i = 0; i < 200'000; ++i) names.push_back(std::to_string(i));
  for (const std::string& name : names) request.inputs.push_back(Input(name, "FP32", {1}, 4));
  const Result<ValidRequest> valid = Validate(request);
  EXPECT_THAT(valid, HasStatus(kInvalid, HasSubstr("got 200002")));
  EXPECT_LT(valid.status().message().size(), 1000u);
}

}  // namespace
}  // namespace ferry
