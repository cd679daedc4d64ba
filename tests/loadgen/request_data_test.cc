#include "loadgen/request_data.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "grpc_service.pb.h"

namespace ferry {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

ModelDescription Model(std::vector<TensorDescription> inputs, bool batched = true) {
  ModelDescription model;
  model.name = "m";
  model.inputs = std::move(inputs);
  model.outputs = {{"y", DataType::kFp32, {-1}, false}};
  model.batched = batched;
  model.max_batch_size = batched ? 8 : 0;
  return model;
}

ModelDescription OneInput(DataType type, Shape shape = {4}) { return Model({{"x", type, std::move(shape), false}}); }

inference::ModelInferRequest Parsed(const std::string& message) {
  inference::ModelInferRequest request;
  EXPECT_TRUE(request.ParseFromString(message));
  return request;
}

std::vector<inference::ModelInferRequest> Made(const ModelDescription& model, const RequestDataOptions& options) {
  const auto made = MakeRequests(model, options);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  std::vector<inference::ModelInferRequest> requests;
  if (!made.ok()) return requests;
  for (const PreparedRequest& request : *made) requests.push_back(Parsed(request.message));
  return requests;
}

std::string ErrorOf(const ModelDescription& model, const RequestDataOptions& options) {
  return MakeRequests(model, options).status().message();
}

// All elements of the first input of all requests.
template <typename Value>
std::vector<Value> Values(const std::vector<inference::ModelInferRequest>& requests) {
  std::vector<Value> values;
  for (const auto& request : requests) {
    const std::string& bytes = request.raw_input_contents(0);
    const size_t count = bytes.size() / sizeof(Value);
    values.resize(values.size() + count);
    std::memcpy(values.data() + values.size() - count, bytes.data(), bytes.size());
  }
  return values;
}

TEST(RequestDataTest, WritesWholeRequestsWithoutAnId) {
  ModelDescription model = Model({{"ids", DataType::kInt64, {3}, false}, {"mask", DataType::kBool, {}, false}});
  model.version = "2";
  RequestDataOptions options;
  options.source = "zero";
  options.class_name = "short";
  const auto made = MakeRequests(model, options).value();
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].class_name, "short");
  EXPECT_EQ(made[0].rows, 1);
  EXPECT_EQ(Parsed(made[0].message).ShortDebugString(),
            R"(model_name: "m" model_version: "2" inputs { name: "ids" datatype: "INT64" shape: 1 shape: 3 } )"
            R"(inputs { name: "mask" datatype: "BOOL" shape: 1 } )"
            R"(raw_input_contents: ")"
            R"(\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000" )"
            R"(raw_input_contents: "\000")");
}

TEST(RequestDataTest, TheBatchSizeStandsInFrontOnce) {
  RequestDataOptions options;
  options.batch_size = 4;
  const auto requests = Made(OneInput(DataType::kFp32, {4}), options);
  ASSERT_THAT(requests, SizeIs(64));
  EXPECT_THAT(requests[0].inputs(0).shape(), ElementsAre(4, 4));
  EXPECT_EQ(requests[0].raw_input_contents(0).size(), 64u);
  EXPECT_EQ(MakeRequests(OneInput(DataType::kFp32), options).value()[0].rows, 4);
}

TEST(RequestDataTest, AModelWithoutBatchDimensionGetsNone) {
  const auto requests = Made(Model({{"x", DataType::kFp32, {4}, false}}, false), {});
  EXPECT_THAT(requests[0].inputs(0).shape(), ElementsAre(4));
}

TEST(RequestDataTest, BatchSizesThatTheModelDoesNotTakeAreErrors) {
  RequestDataOptions options;
  options.batch_size = 9;
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32), options), "model 'm': batch size 9 exceeds max_batch_size 8");
  EXPECT_EQ(ErrorOf(Model({{"x", DataType::kFp32, {4}, false}}, false), options),
            "model 'm': batch size 9, but the model has no batch dimension");
  options.batch_size = 0;
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32), options), "batch size 0 is less than 1");
}

TEST(RequestDataTest, WithoutAKnownLimitAnyBatchSizeGoes) {
  ModelDescription model = OneInput(DataType::kFp32);
  model.max_batch_size = std::nullopt;
  RequestDataOptions options;
  options.batch_size = 100;
  EXPECT_THAT(Made(model, options)[0].inputs(0).shape(), ElementsAre(100, 4));
}

TEST(RequestDataTest, RandomIntegersAreNoughtOrOneUnlessARangeSaysMore) {
  const auto defaults = Values<int64_t>(Made(OneInput(DataType::kInt64), {}));
  EXPECT_EQ(std::set(defaults.begin(), defaults.end()), (std::set<int64_t>{0, 1}));
  RequestDataOptions options;
  options.ranges["x"] = {"-2", "3"};
  const auto ranged = Values<int64_t>(Made(OneInput(DataType::kInt64), options));
  EXPECT_EQ(std::set(ranged.begin(), ranged.end()), (std::set<int64_t>{-2, -1, 0, 1, 2}));
}

TEST(RequestDataTest, RandomFloatsAreFromTheUnitIntervalUnlessARangeSaysMore) {
  const auto defaults = Values<float>(Made(OneInput(DataType::kFp32, {1000}), {}));
  EXPECT_THAT(defaults, Each(Ge(0)));
  EXPECT_THAT(defaults, Each(Lt(1)));
  double sum = 0;
  for (const float value : defaults) sum += value;
  EXPECT_NEAR(sum / 64000, 0.5, 0.01);
  RequestDataOptions options;
  options.ranges["x"] = {"-3", "-2.5"};
  const auto ranged = Values<double>(Made(OneInput(DataType::kFp64, {1000}), options));
  EXPECT_THAT(ranged, Each(Ge(-3)));
  EXPECT_THAT(ranged, Each(Lt(-2.5)));
}

TEST(RequestDataTest, RangesAreOfTheTypeOfTheInput) {
  RequestDataOptions options;
  options.ranges["x"] = {"0", "256"};
  const auto bytes = Values<uint8_t>(Made(OneInput(DataType::kUint8, {1000}), options));
  EXPECT_EQ(std::set(bytes.begin(), bytes.end()).size(), 256u);
  EXPECT_EQ(ErrorOf(OneInput(DataType::kInt8), options), "range of input 'x': 0 to 255 does not fit INT8");
  options.ranges["x"] = {"0.5", "2"};
  EXPECT_EQ(ErrorOf(OneInput(DataType::kInt32), options),
            "range of input 'x': 0.5 to 2 are no two values of INT32, the lower one first");
  options.ranges["x"] = {"0", "1e5"};
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp16), options), "range of input 'x': 0 to 1e5 does not fit FP16");
  EXPECT_EQ(ErrorOf(OneInput(DataType::kBytes), options), "range of input 'x': values of BYTES have none");
}

TEST(RequestDataTest, TheWidestRangesOf64BitsWork) {
  RequestDataOptions options;
  options.ranges["x"] = {"-9223372036854775808", "9223372036854775807"};
  const auto values = Values<int64_t>(Made(OneInput(DataType::kInt64, {100}), options));
  EXPECT_GT(std::ranges::count_if(values, [](int64_t value) { return value < 0; }), 2000);
  EXPECT_GT(std::ranges::count_if(values, [](int64_t value) { return value > 0; }), 2000);
}

TEST(RequestDataTest, RandomStringsHaveTheLengthAskedForBehindTheirPrefix) {
  RequestDataOptions options;
  options.string_length = 5;
  const auto requests = Made(OneInput(DataType::kBytes, {2}), options);
  EXPECT_EQ(requests[0].raw_input_contents(0).size(), 2u * (4 + 5));
  EXPECT_EQ(requests[0].raw_input_contents(0).substr(0, 4), std::string("\5\0\0\0", 4));
  options.string_length = -1;
  EXPECT_EQ(ErrorOf(OneInput(DataType::kBytes), options), "string length -1 is less than 0");
}

TEST(RequestDataTest, TheSeedAloneDecidesOnRandomData) {
  RequestDataOptions options;
  options.seed = 3;
  const ModelDescription model = OneInput(DataType::kFp32);
  const auto once = Values<float>(Made(model, options));
  EXPECT_EQ(Values<float>(Made(model, options)), once);
  options.seed = 4;
  EXPECT_NE(Values<float>(Made(model, options)), once);
}

TEST(RequestDataTest, ThereAreFewerRandomRequestsWhenTheyAreLarge) {
  RequestDataOptions options;
  options.most_bytes = 10'000;
  EXPECT_THAT(Made(OneInput(DataType::kUint8, {999}), options), SizeIs(10));
  EXPECT_THAT(Made(OneInput(DataType::kUint8, {50'000}), options), SizeIs(1));
}

TEST(RequestDataTest, RequestsOver2GiBAreErrors) {
  RequestDataOptions options;
  options.batch_size = 8;
  EXPECT_EQ(ErrorOf(OneInput(DataType::kUint8, {int64_t{1} << 28}), options),
            "model 'm': a request of 8 rows of 268435457 bytes is over 2 GiB");
  EXPECT_EQ(ErrorOf(OneInput(DataType::kUint8, {int64_t{1} << 62, 4}), options),
            "input 'x': [4611686018427387904,4] has too many elements");
}

TEST(RequestDataTest, AVariableShapeWithoutItsFlagIsAnErrorThatNamesBoth) {
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32, {3, -1, -1}), {}),
            "input 'x' has the variable shape [3,-1,-1]: set it with --shape x:3,N,N");
}

TEST(RequestDataTest, TheShapeFlagSetsWhatTheModelLeavesOpenAlone) {
  RequestDataOptions options;
  options.shapes["x"] = {3, 5};
  EXPECT_THAT(Made(OneInput(DataType::kFp32, {3, -1}), options)[0].inputs(0).shape(), ElementsAre(1, 3, 5));
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32, {4, -1}), options),
            "--shape x: [3,5] does not fit the model's [4,-1] (the batch dimension is not part of it)");
  options.shapes = {{"z", {1}}};
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32), options), "--shape z: model 'm' has no such input, but x");
  options.shapes = {};
  options.ranges["z"] = {"0", "1"};
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32), options), "range z: model 'm' has no such input, but x");
}

TEST(RequestDataTest, OptionalInputsAreSentWhenTheOptionsNameThem) {
  const ModelDescription model = Model({{"x", DataType::kFp32, {4}, false}, {"bias", DataType::kFp32, {-1}, true}});
  EXPECT_THAT(Made(model, {})[0].inputs(), SizeIs(1));
  RequestDataOptions options;
  options.shapes["bias"] = {2};
  const auto requests = Made(model, options);
  ASSERT_THAT(requests[0].inputs(), SizeIs(2));
  EXPECT_EQ(requests[0].inputs(1).name(), "bias");
}

TEST(RequestDataTest, RequestParametersAreInEveryRequest) {
  RequestDataOptions options;
  options.parameters = {{"top_k", int64_t{7}}, {"greedy", true}, {"heat", 0.5}, {"user", std::string("me")}};
  const auto parameters = Made(OneInput(DataType::kFp32), options)[5].parameters();
  EXPECT_EQ(parameters.at("top_k").int64_param(), 7);
  EXPECT_TRUE(parameters.at("greedy").bool_param());
  EXPECT_EQ(parameters.at("heat").double_param(), 0.5);
  EXPECT_EQ(parameters.at("user").string_param(), "me");
}

TEST(RequestDataTest, PiecesAddTheIdAndTheQueueParametersToWhatIsThere) {
  RequestDataOptions options;
  options.parameters = {{"top_k", int64_t{7}}};
  const auto made = MakeRequests(OneInput(DataType::kFp32), options).value();
  for (const uint64_t id : {uint64_t{0}, uint64_t{12'345}, UINT64_MAX}) {
    const auto request = Parsed(made[0].message + IdPiece(id) + QueuePiece(3, std::chrono::milliseconds(20)));
    EXPECT_EQ(request.id(), std::to_string(id));
    EXPECT_EQ(request.inputs_size(), 1);
    EXPECT_EQ(request.parameters().at("top_k").int64_param(), 7);
    EXPECT_EQ(request.parameters().at("priority").int64_param(), 3);
    EXPECT_EQ(request.parameters().at("timeout").int64_param(), 20'000);
  }
  EXPECT_EQ(Parsed(IdPiece(7) + made[0].message).id(), "7");
  EXPECT_EQ(QueuePiece(std::nullopt, std::nullopt), "");
}

std::vector<DataStep> StepsOf(const std::vector<std::string>& rows) {
  std::vector<DataStep> steps;
  for (const std::string& row : rows) steps.push_back({{{"x", DataType::kUint8, {1}, row}}, {}});
  return steps;
}

TEST(RequestDataTest, EveryStepIsUsedAsOftenAsTheOthers) {
  RequestDataOptions options;
  options.batch_size = 2;
  std::vector<std::string> contents;
  const auto made = RequestsOfSteps(OneInput(DataType::kUint8, {1}), options, StepsOf({"a", "b", "c"})).value();
  for (const PreparedRequest& request : made) contents.push_back(Parsed(request.message).raw_input_contents(0));
  EXPECT_THAT(contents, ElementsAre("ab", "ca", "bc"));
}

TEST(RequestDataTest, StepsOfOneBatchMustBeAlike) {
  RequestDataOptions options;
  options.batch_size = 2;
  auto steps = StepsOf({"a", "b"});
  steps[1].inputs[0].shape = {2};
  EXPECT_EQ(RequestsOfSteps(OneInput(DataType::kUint8, {-1}), options, steps).status().message(),
            "the steps of one batch have different shapes of 'x': [1] and [2]");
  steps[1].inputs[0].name = "z";
  EXPECT_EQ(RequestsOfSteps(OneInput(DataType::kUint8, {-1}), options, steps).status().message(),
            "the steps of one batch have different tensors: 'x' and 'z'");
  steps[1].inputs.clear();
  EXPECT_EQ(RequestsOfSteps(OneInput(DataType::kUint8, {-1}), options, steps).status().message(),
            "the steps of one batch have not the same tensors");
}

// A folder that goes when the test does.
class RequestFilesTest : public ::testing::Test {
 protected:
  RequestFilesTest() { std::filesystem::create_directory(folder_); }
  ~RequestFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& contents) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << contents;
    return folder_ + "/" + name;
  }

  const std::string folder_ = ::testing::TempDir() + "request_files." + std::to_string(getpid());
};

TEST_F(RequestFilesTest, ReadsAFolderOfRawFiles) {
  Write("x", "abcd");
  Write("text", "one\nthree\n");
  Write("y", std::string(8, '\0'));
  RequestDataOptions options;
  options.source = folder_;
  options.batch_size = 2;
  const ModelDescription model = Model({{"x", DataType::kUint8, {-1}, false},
                                        {"text", DataType::kBytes, {2}, false},
                                        {"bias", DataType::kFp32, {1}, true}});
  const auto made = MakeRequests(model, options).value();
  ASSERT_THAT(made, SizeIs(1));
  const auto request = Parsed(made[0].message);
  ASSERT_THAT(request.inputs(), SizeIs(2));
  EXPECT_THAT(request.inputs(0).shape(), ElementsAre(2, 4));
  EXPECT_EQ(request.raw_input_contents(0), "abcdabcd");
  EXPECT_EQ(request.raw_input_contents(1).substr(0, 16), std::string("\3\0\0\0one\5\0\0\0three", 16));
  ASSERT_THAT(made[0].expected, SizeIs(1));
  EXPECT_THAT(made[0].expected[0].shape, ElementsAre(2, 2));
}

TEST_F(RequestFilesTest, RawFilesMustBeThereAndHaveTheSizeOfARow) {
  RequestDataOptions options;
  options.source = folder_;
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32), options), folder_ + "/x: cannot be read: No such file or directory");
  Write("x", "abc");
  EXPECT_EQ(ErrorOf(OneInput(DataType::kFp32), options), folder_ + "/x: 3 bytes are not one row of FP32 [4]");
}

TEST_F(RequestFilesTest, ReadsAJsonFileAndNamesItInErrors) {
  RequestDataOptions options;
  options.source = Write("data.json", R"({"data": [{"x": [1, 2, 3, 4]}, {"x": [5, 6, 7, 8]}]})");
  EXPECT_THAT(Values<int32_t>(Made(OneInput(DataType::kInt32), options)), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  options.source = Write("wrong.json", "[]");
  EXPECT_EQ(ErrorOf(OneInput(DataType::kInt32), options),
            folder_ + "/wrong.json: expected a JSON object with \"data\"");
  options.source = folder_ + "/none.json";
  EXPECT_THAT(ErrorOf(OneInput(DataType::kInt32), options), HasSubstr("none.json: cannot be read: No such file"));
}

}  // namespace
}  // namespace ferry
