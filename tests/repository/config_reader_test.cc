#include "repository/config_reader.h"

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "model_config.pb.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTensors[] = R"(
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }
)";

Result<ReadConfig> Parse(const std::string& text) { return ParseModelConfig(text, "m/config.pbtxt", "m", "m", 0); }

// A configuration that is complete but for `text`.
Result<ReadConfig> ParseWith(const std::string& text) {
  return Parse(StrCat("platform: \"pytorch_libtorch\"\nmax_batch_size: 8\n", kTensors, text));
}

ModelConfig ConfigWith(const std::string& text) { return ParseWith(text).value().config; }

TEST(ConfigReaderTest, ReadsTensorsAndFillsInDefaults) {
  const ModelConfig config = ConfigWith("");
  EXPECT_EQ(config.name, "m");
  EXPECT_EQ(config.max_batch_size, 8);
  ASSERT_EQ(config.inputs.size(), 1u);
  EXPECT_EQ(config.inputs[0].type, DataType::kFp32);
  EXPECT_EQ(config.inputs[0].dims, Shape{4});
  EXPECT_EQ(config.default_model_filename, "model.pt");
  EXPECT_THAT(config.instances, ElementsAre(kOnHost));
  EXPECT_FALSE(config.dynamic_batching);
  EXPECT_EQ(std::get<LatestVersions>(config.version_policy).count, 1u);
}

TEST(ConfigReaderTest, ReadsBatchingAndParameters) {
  const ModelConfig config = ConfigWith(R"(
dynamic_batching {
  preferred_batch_size: [ 8, 4 ]
  max_queue_delay_microseconds: 500
  default_queue_policy { max_queue_size: 16 }
}
instance_group [ { count: 2 kind: KIND_CPU }, { count: 1 } ]
version_policy { specific { versions: [ 3, 1 ] } }
parameters { key: "INFERENCE_MODE" value { string_value: "true" } }
metric_tags { key: "team" value: "vision" }
)");
  EXPECT_THAT(config.dynamic_batching->preferred_batch_sizes, ElementsAre(4, 8));
  EXPECT_EQ(config.dynamic_batching->max_queue_delay, std::chrono::microseconds(500));
  EXPECT_EQ(config.dynamic_batching->default_queue_policy.max_queue_size, 16u);
  EXPECT_THAT(config.instances, ElementsAre(kOnHost, kOnHost, kOnHost));
  EXPECT_THAT(std::get<SpecificVersions>(config.version_policy).versions, ElementsAre(3, 1));
  EXPECT_EQ(config.parameters.at("INFERENCE_MODE"), "true");
  EXPECT_EQ(config.metric_tags.at("team"), "vision");
}

TEST(ConfigReaderTest, ReadsPrioritiesAndTheirPolicies) {
  const DynamicBatching batching = *ConfigWith(R"(
dynamic_batching {
  priority_levels: 3
  default_priority_level: 2
  default_queue_policy { default_timeout_microseconds: 200 timeout_action: DELAY }
  priority_queue_policy { key: 3 value { allow_timeout_override: true max_queue_size: 5 } }
}
)")
                                        .dynamic_batching;
  EXPECT_EQ(batching.priority_levels, 3u);
  EXPECT_EQ(batching.default_priority_level, 2u);
  EXPECT_EQ(batching.default_queue_policy.default_timeout, std::chrono::microseconds(200));
  EXPECT_EQ(batching.default_queue_policy.timeout_action, QueuePolicy::TimeoutAction::kDelay);
  ASSERT_TRUE(batching.priority_queue_policies.contains(3));
  EXPECT_TRUE(batching.priority_queue_policies.at(3).allow_timeout_override);
  EXPECT_EQ(batching.priority_queue_policies.at(3).max_queue_size, 5u);
}

TEST(ConfigReaderTest, RefusesContradictoryPriorities) {
  const auto refused = [](const char* batching, const char* message) {
    EXPECT_THAT(ParseWith(StrCat("dynamic_batching { ", batching, " }")),
                HasStatus(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused("priority_levels: 2", "default_priority_level 0: must be from 1 to priority_levels 2");
  refused("priority_levels: 2 default_priority_level: 3", "default_priority_level 3");
  refused("priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { } }",
          "priority_queue_policy 3");
  refused("priority_queue_policy { key: 1 value { } }", "priority_queue_policy 1: must be from 1 to priority_levels 0");
  refused("preserve_ordering: true priority_levels: 2 default_priority_level: 1", "preserve_ordering");
  refused("preserve_ordering: true default_queue_policy { timeout_action: DELAY }", "preserve_ordering");
}

std::string Parameter(std::string_view name, std::string_view value) {
  return StrCat("parameters { key: \"", name, "\" value { string_value: \"", value, "\" } }\n");
}

TEST(ConfigReaderTest, ReadsHowBatchSizesAreChosen) {
  EXPECT_TRUE(ConfigWith("").round_batch_sizes);
  EXPECT_TRUE(ConfigWith(Parameter("ferry.batch_sizes", "measured")).round_batch_sizes);
  EXPECT_FALSE(ConfigWith(Parameter("ferry.batch_sizes", "exact")).round_batch_sizes);
  EXPECT_THAT(ParseWith(Parameter("ferry.batch_sizes", "many")),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("parameter ferry.batch_sizes 'many': allowed are")));
}

TEST(ConfigReaderTest, CudaGraphsAreForModelsOnGpus) {
  const auto read = [](std::string_view value, int gpus) {
    const std::string text =
        StrCat("platform: \"pytorch_libtorch\"\n", kTensors, Parameter("ferry.cuda_graphs", value));
    return ParseModelConfig(text, "p", "/nowhere", "m", gpus).value();
  };
  EXPECT_TRUE(read("true", 1).config.cuda_graphs);
  EXPECT_FALSE(read("false", 1).config.cuda_graphs);
  EXPECT_FALSE(read("true", 0).config.cuda_graphs);
  EXPECT_THAT(read("true", 0).warnings, ElementsAre(HasSubstr("ferry.cuda_graphs has no effect without a GPU")));
  EXPECT_THAT(read("true", 1).warnings, IsEmpty());
  EXPECT_FALSE(ConfigWith("").cuda_graphs);
  EXPECT_THAT(ParseWith(Parameter("ferry.cuda_graphs", "yes")),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("parameter ferry.cuda_graphs 'yes': allowed are")));
}

constexpr char kSequence[] = R"(
max_batch_size: 8 dynamic_batching { }
input { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] }
input { name: "speech" data_type: TYPE_FP32 dims: [ 2, -1 ] }
output { name: "tags" data_type: TYPE_FP32 dims: [ -1, 9 ] }
)";

Result<ReadConfig> ParseSequence(std::string_view pad, std::string_view more = "") {
  return ParseModelConfig(StrCat(kSequence, Parameter("ferry.pad", pad), more), "p", "/nowhere", "m", 0);
}

TEST(ConfigReaderTest, ReadsPadding) {
  const Padding padding = *ParseSequence("ids:0=7, speech:1=0.5", Parameter("ferry.pad_lengths", "64 16") +
                                                                      Parameter("ferry.pad_cut", "tags:0=ids:0"))
                               .value()
                               .config.padding;
  ASSERT_EQ(padding.inputs.size(), 2u);
  EXPECT_EQ(padding.inputs[0].input, 0u);
  EXPECT_EQ(*reinterpret_cast<const int64_t*>(padding.inputs[0].value.data()), 7);
  EXPECT_THAT(padding.inputs[1].dims, ElementsAre(1u));
  EXPECT_EQ(*reinterpret_cast<const float*>(padding.inputs[1].value.data()), 0.5f);
  EXPECT_THAT(padding.lengths, ElementsAre(16, 64));
  ASSERT_EQ(padding.cuts.size(), 1u);
  EXPECT_EQ(padding.cuts[0].output_dim, 0u);
}

TEST(ConfigReaderTest, PaddingHasUsualLengthsAndZero) {
  const Padding padding = *ParseSequence("ids:0").value().config.padding;
  EXPECT_THAT(padding.inputs[0].value, ::testing::Each(std::byte{0}));
  EXPECT_EQ(padding.RoundUp(5), 8);
  EXPECT_EQ(padding.RoundUp(17), 24);
  EXPECT_EQ(padding.RoundUp(130), 192);
}

TEST(ConfigReaderTest, RefusesPaddingThatDoesNotFit) {
  const auto refused = [](const Result<ReadConfig>& read, const char* message) {
    EXPECT_THAT(read, HasStatus(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused(ParseSequence("id:0"), "parameter ferry.pad 'id:0': 'id:0': must be <input>:<dimension>");
  refused(ParseSequence("ids"), "must be <input>:<dimension>");
  refused(ParseSequence("speech:0"), "variable one (-1) of dims [2,-1]");
  refused(ParseSequence("ids:1"), "variable one");
  refused(ParseSequence("ids:0=x"), "'x': no value of type INT64");
  refused(ParseSequence("ids:0 ids:0"), "another padding too");
  refused(ParseSequence("ids:0", Parameter("ferry.pad_lengths", "16 -1")), "'-1': must be a number from 1 to");
  refused(ParseSequence("ids:0", Parameter("ferry.pad_lengths", "")), "at least one length");
  refused(ParseSequence("ids:0", Parameter("ferry.pad_cut", "tags:0=speech:1")), "not in ferry.pad");
  refused(ParseSequence("ids:0", Parameter("ferry.pad_cut", "tags:1=ids:0")), "variable one (-1) of dims [-1,9]");
  refused(ParseWith(Parameter("ferry.pad_lengths", "16")), "only with ferry.pad");
  refused(ParseSequence("ids:0", "batch_output { target_name: \"tags\" source_input: \"ids\" }"),
          "batch_output 'tags' or its source is padded");
  refused(ParseSequence("ids:0", "batch_input { target_name: \"n\" data_type: TYPE_INT32 source_input: \"ids\" }"),
          "batch_input 'n' counts the elements of an input that is padded");
}

TEST(ConfigReaderTest, AnUnknownParameterOfFerrysIsAnError) {
  EXPECT_THAT(ParseWith(Parameter("ferry.batch_size", "exact")),
              HasStatus(StatusCode::kInvalidArgument,
                        HasSubstr("parameter 'ferry.batch_size' is unknown; there are ferry.batch_sizes")));
  EXPECT_THAT(ParseWith(Parameter("other", "x")), IsOk());
}

constexpr char kRagged[] = R"(
max_batch_size: 8
input { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] allow_ragged_batch: true }
input { name: "bias" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
)";

Result<ReadConfig> ParseRagged(std::string_view more) {
  return ParseModelConfig(StrCat(kRagged, more), "p", "/nowhere", "m", 0);
}

TEST(ConfigReaderTest, ReadsRaggedAndOptionalInputs) {
  const ReadConfig read = ParseRagged(R"(
batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO target_name: "ends" data_type: TYPE_INT32 source_input: "ids" }
batch_output { target_name: "y" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "ids" }
)")
                              .value();
  EXPECT_THAT(read.warnings, ::testing::IsEmpty());
  EXPECT_TRUE(read.config.inputs[0].ragged);
  EXPECT_TRUE(read.config.inputs[1].optional);
  ASSERT_EQ(read.config.batch_inputs.size(), 1u);
  EXPECT_EQ(read.config.batch_inputs[0].kind, BatchInput::Kind::kAccumulatedElementCountWithZero);
  EXPECT_EQ(read.config.batch_inputs[0].type, DataType::kInt32);
  EXPECT_THAT(read.config.ModelInputNames(), ElementsAre("ids", "bias", "ends"));
  ASSERT_EQ(read.config.batch_outputs.size(), 1u);
  EXPECT_EQ(read.config.batch_outputs[0].output, 0u);
}

TEST(ConfigReaderTest, RefusesBatchInputsThatDoNotFit) {
  const auto refused = [](const char* more, const char* message) {
    EXPECT_THAT(ParseRagged(more), HasStatus(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused("batch_input { target_name: \"e\" data_type: TYPE_INT32 }", "exactly one source_input is needed, got 0");
  refused("batch_input { target_name: \"e\" data_type: TYPE_INT32 source_input: \"q\" }", "'q': no such input");
  refused("batch_input { data_type: TYPE_INT32 source_input: \"ids\" }", "a target_name is needed");
  refused("batch_input { target_name: \"e\" data_type: TYPE_BOOL source_input: \"ids\" }", "TYPE_INT32, TYPE_INT64");
  refused("batch_input { target_name: \"ids\" data_type: TYPE_INT32 source_input: \"ids\" }", "another input");
  refused("batch_input { target_name: \"e\" data_type: TYPE_INT32 source_input: \"bias\" }", "is optional");
  refused("batch_output { target_name: \"q\" source_input: \"ids\" }", "'q': no such output");
  refused(
      "batch_output { target_name: \"y\" source_input: \"ids\" } batch_output { target_name: \"y\" source_input: "
      "\"ids\" }",
      "given twice");
}

TEST(ConfigReaderTest, CallersSeeTheUsersConfigurationWithDefaultsFilledIn) {
  inference::ModelConfig seen;
  ASSERT_TRUE(seen.ParseFromString(ConfigWith("dynamic_batching { max_queue_delay_microseconds: 7 }").serialized));
  EXPECT_EQ(seen.name(), "m");
  EXPECT_EQ(seen.backend(), "pytorch");
  EXPECT_EQ(seen.dynamic_batching().max_queue_delay_microseconds(), 7u);
  EXPECT_EQ(seen.version_policy().latest().num_versions(), 1u);
  ASSERT_EQ(seen.instance_group_size(), 1);
  EXPECT_EQ(seen.instance_group(0).kind(), inference::ModelInstanceGroup::KIND_CPU);
  EXPECT_EQ(seen.instance_group(0).count(), 1);
}

// B092: whatever protobuf's text format allows is allowed here.
TEST(ConfigReaderTest, TakesEveryStyleOfTextFormat) {
  EXPECT_THAT(Parse(StrCat("\xef\xbb\xbf# a comment\r\nname: 'm'\r\nmax_batch_size:\t8;", kTensors)), IsOk());
  EXPECT_THAT(Parse("input < name: 'x' data_type: TYPE_FP32 dims: 4 >"
                    "output [ { name: \"y\", data_type: TYPE_FP32, dims: [ 4 ] } ]"),
              IsOk());
}

TEST(ConfigReaderTest, SyntaxErrorsHaveFileLineAndColumn) {
  EXPECT_THAT(Parse("name: \"m\"\nmax_batch_size: $x\n"),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("m/config.pbtxt:2:17: ")));
  EXPECT_THAT(
      Parse("no_such_field: 1"),
      HasStatus(StatusCode::kInvalidArgument, AllOf(HasSubstr("m/config.pbtxt:1:14: "), HasSubstr("no_such_field"))));
  EXPECT_THAT(ParseWith("input { name: \"z\" "), HasStatus(StatusCode::kInvalidArgument, HasSubstr("m/config.pbtxt:")));
}

// Each of these names the field, the value and what is allowed.
TEST(ConfigReaderTest, RefusesWhatIsNotValid) {
  const auto refusal = [](const std::string& text) { return ParseWith(text).status().message(); };
  EXPECT_THAT(refusal("name: \"other\""), AllOf(HasSubstr("'other'"), HasSubstr("'m'")));
  EXPECT_THAT(Parse(StrCat("max_batch_size: -1", kTensors)).status().message(), HasSubstr("max_batch_size -1"));
  EXPECT_THAT(refusal("backend: \"onnxruntime\""), AllOf(HasSubstr("'onnxruntime'"), HasSubstr("'pytorch'")));
  EXPECT_THAT(refusal("input { name: \"x\" data_type: TYPE_FP32 dims: 4 }"), HasSubstr("input 'x': given twice"));
  EXPECT_THAT(refusal("input { name: \"z\" dims: 4 }"), HasSubstr("input 'z': data_type is missing"));
  EXPECT_THAT(refusal("output { name: \"z\" data_type: TYPE_FP32 }"), HasSubstr("output 'z': dims is missing"));
  EXPECT_THAT(refusal("input { name: \"z\" data_type: TYPE_FP32 dims: 0 }"), HasSubstr("input 'z': dims [0]"));
  EXPECT_THAT(refusal("input { name: \"z\" data_type: TYPE_FP32 dims: -2 }"), HasSubstr("dims [-2]"));
  EXPECT_THAT(refusal("dynamic_batching { preferred_batch_size: 9 }"), HasSubstr("preferred_batch_size 9"));
  EXPECT_THAT(refusal("instance_group { kind: KIND_GPU }"), HasSubstr("instance_group[0].kind: KIND_GPU"));
  EXPECT_THAT(refusal("instance_group { kind: KIND_CPU gpus: 0 }"), HasSubstr("instance_group[0].gpus"));
  EXPECT_THAT(refusal("instance_group { count: -3 }"), HasSubstr("instance_group[0].count: -3"));
  EXPECT_THAT(refusal("default_model_filename: \"../x.pt\""), HasSubstr("'../x.pt'"));
  EXPECT_THAT(refusal("input { name: \"z\" data_type: TYPE_FP32 dims: 4 format: FORMAT_NCHW }"), HasSubstr("3 dims"));
}

TEST(ConfigReaderTest, RefusesBatchesThatNoMemoryHolds) {
  const auto with_dims = [](const char* dims) {
    return ParseWith(StrCat("input { name: \"z\" data_type: TYPE_FP32 dims: [", dims, "] }"));
  };
  for (const char* dims : {"4611686018427387904", "1099511627776000", "1099511627776,-1,1099511627776"}) {
    EXPECT_THAT(with_dims(dims), HasStatus(StatusCode::kInvalidArgument, HasSubstr("input 'z': "))) << dims;
  }
  EXPECT_THAT(with_dims("134217729"), HasStatus(StatusCode::kInvalidArgument, HasSubstr("at most 4294967296")));
  EXPECT_THAT(with_dims("134217728"), IsOk());
}

TEST(ConfigReaderTest, RefusesStringsAlsoWhenTheyAreWarmedUp) {
  EXPECT_THAT(ParseWith("input { name: \"z\" data_type: TYPE_STRING dims: 1 } model_warmup { name: \"w\" batch_size: 1 "
                        "inputs { key: \"z\" value { data_type: TYPE_STRING dims: 1 zero_data: true } } }"),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("input 'z': data_type TYPE_STRING")));
}

TEST(ConfigReaderTest, RefusesWhatWouldChangeTheAnswers) {
  const auto refusal = [](const std::string& text) { return ParseWith(text).status(); };
  EXPECT_THAT(refusal("sequence_batching { }"), HasStatus(StatusCode::kUnimplemented, HasSubstr("sequence_batching")));
  EXPECT_THAT(refusal("ensemble_scheduling { }"), HasStatus(StatusCode::kUnimplemented, HasSubstr("ensemble")));
  EXPECT_THAT(refusal("model_transaction_policy { decoupled: true }"),
              HasStatus(StatusCode::kUnimplemented, HasSubstr("decoupled")));
}

// B056
TEST(ConfigReaderTest, AReshapeKeepsTheElements) {
  const auto reshaped = [](const char* dims, const char* shape) {
    return ParseWith(
        StrCat("input { name: \"z\" data_type: TYPE_FP32 dims: [", dims, "] reshape { shape: [", shape, "] } }"));
  };
  EXPECT_THAT(reshaped("4", "5"), HasStatus(StatusCode::kInvalidArgument, AllOf(HasSubstr("[5]"), HasSubstr("[4]"))));
  EXPECT_THAT(reshaped("4,-1", "-1"), HasStatus(StatusCode::kInvalidArgument, HasSubstr("reshape [-1]")));
  EXPECT_THAT(reshaped("4", "2,-1"), HasStatus(StatusCode::kInvalidArgument, HasSubstr("reshape [2,-1]")));
  EXPECT_THAT(reshaped("4", "2,2"), IsOk());
  EXPECT_THAT(reshaped("4,-1,6", "2,2,-1,3,2"), IsOk());
  EXPECT_THAT(reshaped("1", ""), IsOk());
}

TEST(ConfigReaderTest, WarmupSamplesFitTheInputs) {
  const auto sample = [](const char* input, const char* type, const char* dims, int batch_size) {
    return ParseWith(StrCat("model_warmup { name: \"w\" batch_size: ", batch_size, " inputs { key: \"", input,
                            "\" value { data_type: ", type, " dims: [", dims, "] zero_data: true } } }"));
  };
  EXPECT_THAT(sample("x", "TYPE_FP32", "4", 8), IsOk());
  EXPECT_THAT(sample("q", "TYPE_FP32", "4", 1), HasStatus(StatusCode::kInvalidArgument, HasSubstr("model_warmup 'w'")));
  EXPECT_THAT(sample("x", "TYPE_INT32", "4", 1), HasStatus(StatusCode::kInvalidArgument, HasSubstr("INT32")));
  EXPECT_THAT(sample("x", "TYPE_FP32", "5", 1), HasStatus(StatusCode::kInvalidArgument, HasSubstr("dims [5]")));
  EXPECT_THAT(sample("x", "TYPE_FP32", "4", 9), HasStatus(StatusCode::kInvalidArgument, HasSubstr("batch_size 9")));
  EXPECT_EQ(sample("x", "TYPE_FP32", "4", 0).value().config.warmup.size(), 0u);
}

TEST(ConfigReaderTest, NamesFieldsWithoutEffect) {
  const ReadConfig read = ParseWith(R"(
optimization { graph { level: 1 } }
response_cache { enable: true }
)")
                              .value();
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("'optimization'"), HasSubstr("'response_cache'")));
}

TEST(ConfigReaderTest, ReadsLabelsFromTheModelsFolder) {
  const std::string folder = ::testing::TempDir() + "/config_reader_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/labels.txt") << "cat\r\ndog\n";
  const std::string text = StrCat(kTensors, "output { name: \"z\" data_type: TYPE_FP32 dims: 2 label_filename: ");
  EXPECT_THAT(ParseModelConfig(text + "\"labels.txt\" }", "p", folder, "m", 0).value().config.outputs[1].labels,
              ElementsAre("cat", "dog"));
  EXPECT_THAT(ParseModelConfig(text + "\"none.txt\" }", "p", folder, "m", 0),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("'none.txt'")));
  EXPECT_THAT(ParseModelConfig(text + "\"../labels.txt\" }", "p", folder, "m", 0),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("inside the model's folder")));
}

TEST(ConfigReaderTest, AMissingFileIsNamed) {
  EXPECT_THAT(ReadModelConfig("/no/such/model", "model", 0),
              HasStatus(StatusCode::kNotFound, HasSubstr("/no/such/model/config.pbtxt does not exist")));
}

// The whole message parses, so a file for any other server's features at least gets a sensible answer.
TEST(ConfigReaderTest, TheWholeOfTritonsConfigurationParses) {
  EXPECT_THAT(ParseWith(R"(
runtime: "x" model_operations { op_library_filename: "a" } model_repository_agents { agents { name: "a" } }
model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: 1 } } }
optimization { cuda { graph_spec { batch_size: 1 input { key: "x" value { dim: 4 } } } } input_pinned_memory { enable: false } }
instance_group { rate_limiter { resources { name: "r" count: 1 } } host_policy: "h" secondary_devices { device_id: 1 } }
cc_model_filenames { key: "8.0" value: "x" }
dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 1 value { max_queue_size: 3 } } }
)"),
              IsOk());
}

}  // namespace
}  // namespace ferry
