#include "frontend/grpc/infer_message.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include "frontend/grpc/infer_response.h"
#include "support/fake_backend.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = StatusCode::kInvalidArgument;

class InferMessageTest : public ::testing::Test {
 protected:
  // The first input of `proto_`, after a trip over the wire.
  WireInput Wire() {
    bool own = false;
    grpc::ByteBuffer buffer;
    EXPECT_TRUE(grpc::SerializationTraits<inference::ModelInferRequest>::Serialize(proto_, &buffer, &own).ok());
    message_ = InferMessage::Parse(&buffer).value();
    return message_->ToWire().inputs.at(0);
  }
  inference::InferTensorContents& Input(const std::string& datatype) {
    proto_.Clear();
    auto& input = *proto_.add_inputs();
    input.set_name("x");
    input.set_datatype(datatype);
    return *input.mutable_contents();
  }

  inference::ModelInferRequest proto_;
  std::shared_ptr<InferMessage> message_;
};

TEST_F(InferMessageTest, RawContentsBelongToTheInputsInOrder) {
  proto_.add_inputs()->set_name("x");
  proto_.add_inputs()->set_name("z");
  proto_.add_raw_input_contents("ab");
  const WireInput first = Wire();
  EXPECT_THAT(first.data_status, IsOk());
  EXPECT_EQ(first.data.size(), 2u);
  EXPECT_THAT(message_->ToWire().inputs[1].data_status, HasStatus(kInvalid, HasSubstr("unable to find data")));
}

TEST_F(InferMessageTest, FourByteFieldsAreBorrowed) {
  Input("FP32").add_fp32_contents(1.5f);
  const WireInput wire = Wire();
  EXPECT_THAT(wire.data_status, IsOk());
  EXPECT_EQ(Floats(wire.data.pieces()[0]), std::vector<float>{1.5f});
}

TEST_F(InferMessageTest, NarrowTypesAreConverted) {
  Input("INT8").add_int_contents(-128);
  EXPECT_EQ(std::to_integer<int8_t>(Wire().data.pieces()[0][0]), -128);
  Input("UINT16").add_uint_contents(65535);
  EXPECT_EQ(Wire().data.size(), 2u);
}

// B044: no value wraps around.
TEST_F(InferMessageTest, ValuesOutOfRangeAreRefused) {
  Input("INT8").add_int_contents(300);
  EXPECT_THAT(Wire().data_status, HasStatus(kInvalid, HasSubstr("value 300")));
  Input("UINT8").add_uint_contents(256);
  EXPECT_THAT(Wire().data_status, HasStatus(kInvalid, HasSubstr("value 256")));
}

TEST_F(InferMessageTest, TheFieldMustFitTheType) {
  Input("FP32").add_int64_contents(1);
  EXPECT_THAT(Wire().data_status, HasStatus(kInvalid, HasSubstr("expected fp32_contents")));
  Input("FP16").add_fp32_contents(1);
  EXPECT_THAT(Wire().data_status, HasStatus(kInvalid, HasSubstr("expected raw_input_contents")));
}

TEST_F(InferMessageTest, OnlyOneFieldMayBeFilled) {
  auto& contents = Input("FP32");
  contents.add_fp32_contents(1);
  contents.add_fp64_contents(1);
  EXPECT_THAT(Wire().data_status, HasStatus(kInvalid, HasSubstr("already supplied")));
}

TEST_F(InferMessageTest, RawAndTypedTogetherAreRefused) {
  Input("FP32").add_fp32_contents(1);
  proto_.add_raw_input_contents("abcd");
  EXPECT_THAT(Wire().data_status,
              HasStatus(kInvalid, HasSubstr("must not be specified when using raw_input_contents")));
}

TEST_F(InferMessageTest, WithoutAnyDataTheInputIsNamed) {
  proto_.add_inputs()->set_name("x");
  EXPECT_THAT(Wire().data_status, HasStatus(kInvalid, HasSubstr("unable to find data for input tensor 'x'")));
}

TEST_F(InferMessageTest, BytesThatAreNoRequestAreRefused) {
  const grpc::Slice garbage("\xff\xff\xff\xff");
  grpc::ByteBuffer buffer(&garbage, 1);
  EXPECT_THAT(InferMessage::Parse(&buffer), HasStatus(kInvalid, HasSubstr("not a valid ModelInferRequest")));
}

// B043: an entry of two bytes would become a hundred.
TEST_F(InferMessageTest, ThousandsOfEntriesAreRefusedUnparsed) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += std::string("\x32\x00", 2);
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer buffer(&slice, 1);
  EXPECT_THAT(InferMessage::Parse(&buffer), HasStatus(kInvalid, HasSubstr("more than 4096")));
}

template <typename Message>
Message Received(grpc::ByteBuffer buffer) {
  Message message;
  EXPECT_TRUE(grpc::SerializationTraits<Message>::Deserialize(&buffer, &message).ok());
  return message;
}

TEST(InferResponseTest, LargeTensorsAreSentFromTheirOwnMemoryUnlessTheyAreToBeCopied) {
  const std::vector outputs = {ZeroTensor(DataType::kFp32, {5000})};
  const long owners = outputs[0].owner.use_count();
  ResponseHeader header{"m", 3, "id", {"a"}};
  const grpc::ByteBuffer shared = BuildInferResponse(header, outputs).value();
  EXPECT_EQ(outputs[0].owner.use_count(), owners + 1);
  header.copy = true;
  const grpc::ByteBuffer copied = BuildInferResponse(header, outputs).value();
  EXPECT_EQ(outputs[0].owner.use_count(), owners + 1);
  EXPECT_EQ(Received<inference::ModelInferResponse>(copied).raw_output_contents(0).size(), 20000u);
}

TEST(InferResponseTest, InAStreamEachAnswerSaysThatItIsTheLast) {
  const std::vector outputs = {ZeroTensor(DataType::kFp32, {5000}), FloatTensor({1}, {2})};
  const auto message = Received<inference::ModelStreamInferResponse>(
      BuildInferResponse({"m", 3, "id", {"a", "b"}, /*in_stream=*/true}, outputs).value());
  EXPECT_EQ(message.error_message(), "");
  EXPECT_TRUE(message.infer_response().parameters().at("triton_final_response").bool_param());
  EXPECT_EQ(message.infer_response().raw_output_contents(0).size(), 20000u);
  EXPECT_EQ(message.infer_response().raw_output_contents(1).size(), 4u);
}

TEST(InferResponseTest, AnErrorInAStreamKeepsTheId) {
  const auto message = Received<inference::ModelStreamInferResponse>(BuildStreamError("m", "id", "broken"));
  EXPECT_EQ(message.error_message(), "broken");
  EXPECT_EQ(message.infer_response().model_name(), "m");
  EXPECT_EQ(message.infer_response().id(), "id");
}

TEST(InferResponseTest, IsTheMessageThatClientsExpect) {
  const std::vector outputs = {FloatTensor({1, 2}, {1, 2}), ZeroTensor(DataType::kFp32, {1, 5000}),
                               ZeroTensor(DataType::kInt64, {1, 0})};
  grpc::ByteBuffer buffer = BuildInferResponse({"m", 3, "id", {"a", "b", "c"}}, outputs).value();
  inference::ModelInferResponse response;
  ASSERT_TRUE(grpc::SerializationTraits<inference::ModelInferResponse>::Deserialize(&buffer, &response).ok());
  EXPECT_EQ(response.model_name(), "m");
  EXPECT_EQ(response.model_version(), "3");
  EXPECT_EQ(response.id(), "id");
  ASSERT_EQ(response.outputs_size(), 3);
  EXPECT_EQ(response.outputs(2).datatype(), "INT64");
  EXPECT_EQ(response.outputs(1).shape(1), 5000);
  ASSERT_EQ(response.raw_output_contents_size(), 3);
  EXPECT_EQ(response.raw_output_contents(0).size(), 8u);
  EXPECT_EQ(response.raw_output_contents(1).size(), 20000u);
  EXPECT_EQ(response.raw_output_contents(2), "");
}

}  // namespace
}  // namespace ferry
