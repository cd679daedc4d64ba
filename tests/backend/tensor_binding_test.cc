#include "backend/tensor_binding.h"

#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = StatusCode::kInvalidArgument;

ModelConfig WithInputs(std::vector<std::string> names) {
  ModelConfig config;
  for (std::string& name : names) config.inputs.push_back({std::move(name), DataType::kFp32, {1}, {}, {}});
  return config;
}
ModelConfig WithOutputs(std::vector<std::string> names) {
  ModelConfig config = WithInputs(std::move(names));
  std::swap(config.inputs, config.outputs);
  return config;
}

// forward(a, b)
const ForwardArguments kTwo = {{"a", "b"}, {false, false}, false};

// B064: names and indexes win over the order in the file.
TEST(BindInputsTest, ByArgumentName) {
  EXPECT_THAT(BindInputs(WithInputs({"b", "a"}), kTwo).value().argument, ElementsAre(1, 0));
}

TEST(BindInputsTest, AnOptionalInputNeedsADefault) {
  ModelConfig config = WithInputs({"a", "b"});
  config.inputs[1].optional = true;
  EXPECT_THAT(BindInputs(config, kTwo),
              HasStatus(kInvalid, HasSubstr("'b' of the model's forward(a, b) has no default")));
  EXPECT_THAT(BindInputs(config, {{"a", "b"}, {false, true}, false}), IsOk());
}

TEST(BindInputsTest, BatchInputsAreInputsOfTheModel) {
  ModelConfig config = WithInputs({"b"});
  config.batch_inputs.push_back({BatchInput::Kind::kElementCount, "a", DataType::kInt32, 0});
  EXPECT_THAT(BindInputs(config, kTwo).value().argument, ElementsAre(1, 0));
}

TEST(BindInputsTest, ByIndex) {
  EXPECT_THAT(BindInputs(WithInputs({"INPUT__1", "INPUT__0"}), kTwo).value().argument, ElementsAre(1, 0));
}

TEST(BindInputsTest, ByOrderWhenThereIsNoOtherSign) {
  const InputBinding binding = BindInputs(WithInputs({"p", "q"}), kTwo).value();
  EXPECT_THAT(binding.argument, ElementsAre(0, 1));
  EXPECT_TRUE(binding.by_order);
}

TEST(BindInputsTest, ALoneFreeNameIsNoCauseForAWarning) {
  EXPECT_FALSE(BindInputs(WithInputs({"p"}), {{"x"}, {false}, false}).value().by_order);
}

TEST(BindInputsTest, AMixIsRefused) {
  EXPECT_THAT(BindInputs(WithInputs({"INPUT__1", "q"}), kTwo), HasStatus(kInvalid, HasSubstr("order is unclear")));
}

TEST(BindInputsTest, IndexesMustFit) {
  EXPECT_THAT(BindInputs(WithInputs({"i__0", "i__2"}), kTwo), HasStatus(kInvalid, HasSubstr("'i__2'")));
  EXPECT_THAT(BindInputs(WithInputs({"i__0", "j__0"}), kTwo), HasStatus(kInvalid, HasSubstr("given twice")));
}

TEST(BindInputsTest, EveryArgumentWithoutDefaultNeedsAnInput) {
  EXPECT_THAT(BindInputs(WithInputs({"a"}), kTwo), HasStatus(kInvalid, HasSubstr("argument 'b'")));
  EXPECT_THAT(BindInputs(WithInputs({"a"}), {{"a", "b"}, {false, true}, false}), IsOk());
  EXPECT_THAT(BindInputs(WithInputs({"p", "q", "r"}), kTwo), HasStatus(kInvalid, HasSubstr("'r'")));
}

TEST(BindInputsTest, ADictTakesAnyNames) {
  EXPECT_EQ(BindInputs(WithInputs({"p", "q__1"}), {{"inputs"}, {false}, true}).value().kind, InputBinding::Kind::kDict);
}

TEST(BindOutputsTest, ByIndexOrOrder) {
  EXPECT_THAT(BindOutputs(WithOutputs({"OUTPUT__1", "OUTPUT__0"})).value(), ElementsAre(1, 0));
  EXPECT_THAT(BindOutputs(WithOutputs({"p", "q"})).value(), ElementsAre(0, 1));
  EXPECT_THAT(BindOutputs(WithOutputs({"OUTPUT__1", "q"})), HasStatus(kInvalid, HasSubstr("order is unclear")));
}

}  // namespace
}  // namespace ferry
