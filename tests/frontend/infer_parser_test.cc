#include "frontend/wire/infer_parser.h"

#include <gtest/gtest.h>

#include <random>

#include "support/infer_oracle.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = StatusCode::kInvalidArgument;

// A message in which everything occurs.
inference::ModelInferRequest FullRequest() {
  inference::ModelInferRequest proto;
  proto.set_model_name("a model with a long name");
  proto.set_model_version("3");
  proto.set_id("id-0123456789");
  (*proto.mutable_parameters())["priority"].set_uint64_param(7);
  (*proto.mutable_parameters())["timeout"].set_int64_param(-5);
  (*proto.mutable_parameters())["half"].set_double_param(0.5);
  (*proto.mutable_parameters())["text"].set_string_param("gr\xc3\xbc\xc3\x9f");
  (*proto.mutable_parameters())["nothing"];
  auto& typed = *proto.add_inputs();
  typed.set_name("typed");
  typed.set_datatype("FP32");
  typed.add_shape(2);
  typed.add_shape(-1);
  typed.mutable_contents()->add_fp32_contents(1.5f);
  typed.mutable_contents()->add_bytes_contents("abc");
  auto& raw = *proto.add_inputs();
  raw.set_name("raw");
  (*raw.mutable_parameters())["shared"].set_bool_param(true);
  auto& output = *proto.add_outputs();
  output.set_name("y");
  (*output.mutable_parameters())["classification"].set_int64_param(3);
  proto.add_raw_input_contents(std::string(300, 'r'));
  proto.add_raw_input_contents("");
  proto.add_raw_input_contents("end");
  return proto;
}

std::string Parsed(const std::string& message, const std::vector<std::string>& parts) {
  return Disagreement(message, ParseInferRequest(AsPieces(parts)));
}

TEST(InferParserTest, ReadsWhatProtobufWrites) {
  const std::string message = FullRequest().SerializeAsString();
  EXPECT_EQ(Parsed(message, {message}), "");
  EXPECT_EQ(Parsed("", {}), "");
}

TEST(InferParserTest, PiecesMayEndAnywhere) {
  const std::string message = FullRequest().SerializeAsString();
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    EXPECT_EQ(Parsed(message, {message.substr(0, cut), "", message.substr(cut)}), "") << cut;
  }
  std::vector<std::string> single;
  for (const char c : message) single.emplace_back(1, c);
  EXPECT_EQ(Parsed(message, single), "");
}

TEST(InferParserTest, RawContentsStayWhereTheyAre) {
  inference::ModelInferRequest proto;
  proto.add_raw_input_contents("abcdef");
  const std::string message = proto.SerializeAsString();
  const std::vector<Bytes> pieces = {std::as_bytes(std::span(message))};
  const ParsedInferRequest parsed = ParseInferRequest(pieces).value();
  ASSERT_EQ(parsed.raw_contents[0].pieces().size(), 1u);
  EXPECT_EQ(parsed.raw_contents[0].pieces()[0].data(), pieces[0].data() + 2);
}

TEST(InferParserTest, ViewsSurviveAMove) {
  const std::string message = FullRequest().SerializeAsString();
  const std::vector<std::string> parts = {message.substr(0, 5), message.substr(5, 40), message.substr(45)};
  ParsedInferRequest first = ParseInferRequest(AsPieces(parts)).value();
  const Result<ParsedInferRequest> moved = std::move(first);
  EXPECT_EQ(Disagreement(message, moved), "");
}

// Concatenated messages are merged: the last of singular fields counts.
TEST(InferParserTest, TheLastOfRepeatedFieldsCounts) {
  inference::ModelInferRequest second;
  second.set_model_name("second");
  (*second.mutable_parameters())["timeout"].set_string_param("second");
  const std::string message = FullRequest().SerializeAsString() + second.SerializeAsString();
  EXPECT_EQ(Parsed(message, {message}), "");
}

TEST(InferParserTest, UnpackedShapesAndUnknownFieldsAreRead) {
  const std::string unpacked("\x2a\x06\x18\x02\x18\x03\x78\x01", 8);  // inputs { shape: 2 shape: 3 15: 1 }
  EXPECT_EQ(Parsed(unpacked, {unpacked}), "");
  const std::string group("\x7b\x08\x01\x7c\x0a\x01m", 7);  // group 15 { 1: 1 } model_name: "m"
  EXPECT_EQ(Parsed(group, {group}), "");
  EXPECT_EQ(ParseInferRequest(AsPieces({group}))->model_name, "m");
}

TEST(InferParserTest, WhatIsNoMessageIsRefused) {
  for (const std::string& message :
       {std::string("\xff\xff\xff\xff"), std::string("\x0a\x05x"), std::string("\0", 1), std::string("\x0a\x01\xff"),
        std::string("\x2a\x02\x0a\x05hello"), std::string("\x0c"), std::string("\x3a\xff\xff\xff\xff\x07")}) {
    EXPECT_THAT(ParseInferRequest(AsPieces({message})), HasStatus(kInvalid, HasSubstr("not a valid")));
    EXPECT_FALSE(inference::ModelInferRequest().ParseFromString(message));
  }
}

// One byte of a packed shape would become eight.
TEST(InferParserTest, AShapeOfThousandsOfDimensionsIsRefused) {
  inference::ModelInferRequest proto;
  for (int i = 0; i < 4097; ++i) {
    if (i == 0) proto.add_inputs();
    proto.mutable_inputs(0)->add_shape(1);
  }
  EXPECT_THAT(ParseInferRequest(AsPieces({proto.SerializeAsString()})),
              HasStatus(kInvalid, HasSubstr("more than 4096 dimensions")));
}

TEST(InferParserTest, AgreesWithProtobufOnMutants) {
  google::protobuf::LogSilencer silence;
  std::mt19937 random(7);
  const std::string original = FullRequest().SerializeAsString();
  for (int i = 0; i < 20'000; ++i) {
    std::string message = original;
    for (uint32_t n = random() % 4; n > 0; --n) message[random() % message.size()] = static_cast<char>(random());
    if (random() % 4 == 0) message.resize(random() % message.size());
    const auto parts = CutAtRandom(message, [&](size_t limit) { return random() % limit; });
    ASSERT_EQ(Parsed(message, parts), "") << "mutant " << i;
  }
}

}  // namespace
}  // namespace ferry
