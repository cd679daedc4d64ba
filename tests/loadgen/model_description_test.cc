#include "loadgen/model_description.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include "grpc_service.pb.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

inference::ModelMetadataResponse Metadata(const std::string& text) {
  return FromText<inference::ModelMetadataResponse>(text);
}

inference::ModelConfig Config(const std::string& text) { return FromText<inference::ModelConfig>(text); }

const char kResnet[] = R"(
  name: "resnet" versions: "1" versions: "2" platform: "pytorch_libtorch"
  inputs { name: "image" datatype: "FP32" shape: [-1, 3, 224, -1] }
  outputs { name: "scores" datatype: "FP16" shape: [-1, 1000] })";

TEST(ModelDescriptionTest, LeavesTheBatchDimensionOutOfTheShapes) {
  const auto config = Config(R"(
    max_batch_size: 8 dynamic_batching { }
    input { name: "image" dims: [3, 224, -1] } output { name: "scores" dims: 1000 })");
  const ModelDescription model = DescribeModel(Metadata(kResnet), &config, "2").value();
  EXPECT_EQ(model.name, "resnet");
  EXPECT_EQ(model.version, "2");
  EXPECT_THAT(model.versions, ElementsAre("1", "2"));
  EXPECT_TRUE(model.batched);
  EXPECT_TRUE(model.dynamic_batching);
  EXPECT_EQ(model.max_batch_size, 8);
  ASSERT_NE(model.FindInput("image"), nullptr);
  EXPECT_EQ(model.FindInput("image")->type, DataType::kFp32);
  EXPECT_THAT(model.FindInput("image")->shape, ElementsAre(3, 224, -1));
  EXPECT_THAT(model.FindOutput("scores")->shape, ElementsAre(1000));
  EXPECT_EQ(model.FindInput("scores"), nullptr);
}

TEST(ModelDescriptionTest, WithMaxBatchSizeZeroALeadingAnyExtentIsNoBatchDimension) {
  const auto config = Config(R"(input { name: "tokens" dims: -1 })");
  const auto metadata = Metadata(R"(name: "m" inputs { name: "tokens" datatype: "INT64" shape: -1 })");
  const ModelDescription model = DescribeModel(metadata, &config).value();
  EXPECT_FALSE(model.batched);
  EXPECT_EQ(model.max_batch_size, 0);
  EXPECT_THAT(model.inputs[0].shape, ElementsAre(-1));
}

TEST(ModelDescriptionTest, ABatchedScalarHasNoExtents) {
  const auto config = Config("max_batch_size: 4");
  const auto metadata = Metadata(R"(name: "m" inputs { name: "x" datatype: "INT64" shape: -1 })");
  EXPECT_THAT(DescribeModel(metadata, &config).value().inputs[0].shape, IsEmpty());
}

TEST(ModelDescriptionTest, TakesOptionalInputsFromTheConfiguration) {
  const auto metadata = Metadata(R"(
    name: "m" inputs { name: "x" datatype: "FP32" shape: [-1, 4] } inputs { name: "bias" datatype: "FP32" shape: [-1, 4] })");
  const auto config = Config(R"(
    max_batch_size: 2 input { name: "x" dims: 4 } input { name: "bias" dims: 4 optional: true })");
  const ModelDescription model = DescribeModel(metadata, &config).value();
  EXPECT_FALSE(model.FindInput("x")->optional);
  EXPECT_TRUE(model.FindInput("bias")->optional);
}

TEST(ModelDescriptionTest, CountsInstancesOnEveryGpuButNotPassiveOnes) {
  const auto config = Config(R"(
    instance_group { count: 2 kind: KIND_GPU gpus: [0, 1, 2] }
    instance_group { count: 3 kind: KIND_CPU }
    instance_group { count: 5 kind: KIND_CPU passive: true })");
  EXPECT_EQ(DescribeModel(Metadata(kResnet), &config).value().instances, 9);
  const auto none = Config("");
  EXPECT_EQ(DescribeModel(Metadata(kResnet), &none).value().instances, 1);
}

TEST(ModelDescriptionTest, NoticesSequencesAndStreams) {
  const auto config = Config("sequence_batching { } model_transaction_policy { decoupled: true }");
  const ModelDescription model = DescribeModel(Metadata(kResnet), &config).value();
  EXPECT_TRUE(model.sequences);
  EXPECT_TRUE(model.decoupled);
  EXPECT_FALSE(model.dynamic_batching);
}

TEST(ModelDescriptionTest, WithoutAConfigurationALeadingAnyExtentOfAllInputsIsTheBatch) {
  const ModelDescription model = DescribeModel(Metadata(kResnet), nullptr).value();
  EXPECT_TRUE(model.batched);
  EXPECT_EQ(model.max_batch_size, std::nullopt);
  EXPECT_EQ(model.instances, std::nullopt);
  EXPECT_THAT(model.inputs[0].shape, ElementsAre(3, 224, -1));
  EXPECT_THAT(model.outputs[0].shape, ElementsAre(1000));
}

TEST(ModelDescriptionTest, WithoutAConfigurationOneInputWithAFixedExtentInFrontMeansNoBatch) {
  const auto metadata = Metadata(R"(
    name: "m" inputs { name: "x" datatype: "FP32" shape: [-1, 4] } inputs { name: "y" datatype: "FP32" shape: [4] })");
  const ModelDescription model = DescribeModel(metadata, nullptr).value();
  EXPECT_FALSE(model.batched);
  EXPECT_THAT(model.inputs[0].shape, ElementsAre(-1, 4));
}

TEST(ModelDescriptionTest, RefusesInputsOfUnknownDatatypeAndModelsWithoutInputs) {
  const auto unknown = Metadata(R"(name: "m" inputs { name: "x" datatype: "COMPLEX64" shape: -1 })");
  EXPECT_EQ(DescribeModel(unknown, nullptr).status().message(),
            "model 'm': input 'x' has the datatype 'COMPLEX64', which is none of the protocol's");
  EXPECT_EQ(DescribeModel(Metadata(R"(name: "m")"), nullptr).status().message(),
            "model 'm': the server's metadata names no inputs");
}

}  // namespace
}  // namespace ferry
