#include "loadgen/stream_answer.h"

#include <gtest/gtest.h>

#include "grpc_service.pb.h"

namespace ferry {
namespace {

grpc::ByteBuffer Bytes(const std::string& text) {
  // In two slices, as they may come.
  const grpc::Slice slices[] = {grpc::Slice(text.substr(0, text.size() / 2)),
                                grpc::Slice(text.substr(text.size() / 2))};
  return {slices, 2};
}

TEST(StreamAnswerTest, TheIdIsFoundBehindLargeTensors) {
  inference::ModelStreamInferResponse response;
  response.mutable_infer_response()->set_model_name("mlp");
  response.mutable_infer_response()->add_raw_output_contents(std::string(1 << 20, 'x'));
  response.mutable_infer_response()->set_id("12345");
  (*response.mutable_infer_response()->mutable_parameters())["a"].set_int64_param(1);
  const auto answer = ReadStreamAnswer(Bytes(response.SerializeAsString()));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, "12345");
  EXPECT_EQ(answer->error, "");
}

TEST(StreamAnswerTest, ErrorsAreReadWithAnIdAndWithout) {
  inference::ModelStreamInferResponse response;
  response.set_error_message("queue full");
  EXPECT_EQ(ReadStreamAnswer(Bytes(response.SerializeAsString()))->id, "");
  response.mutable_infer_response()->set_id("7");
  const auto answer = ReadStreamAnswer(Bytes(response.SerializeAsString()));
  EXPECT_EQ(answer->error, "queue full");
  EXPECT_EQ(answer->id, "7");
}

TEST(StreamAnswerTest, WhatIsCutOffIsNoAnswer) {
  inference::ModelStreamInferResponse response;
  response.mutable_infer_response()->set_model_name("mlp");
  response.mutable_infer_response()->set_id("7");
  const std::string whole = response.SerializeAsString();
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(ReadStreamAnswer(Bytes(whole.substr(0, size)))) << size;
  }
}

}  // namespace
}  // namespace ferry
