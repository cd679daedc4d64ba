#include "backend/torchscript_backend.h"

#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>

#include <cstring>
#include <fstream>

#include "support/host_device.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<float> Floats(Bytes bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class TorchScriptBackendTest : public ::testing::Test {
 protected:
  // Each test has its own: they may run at the same time.
  static std::string ModelPath() {
    return ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".pt";
  }

  // Saves a module with this source and loads it as configured.
  Status Load(const std::string& source, std::vector<std::string> inputs, std::vector<std::string> outputs) {
    torch::jit::Module module("M");
    module.register_buffer("state", at::zeros({1, 2}));
    module.define(source + "\n");
    module.save(ModelPath());
    config_.name = "m";
    config_.max_batch_size = 8;
    config_.inputs.clear();
    config_.outputs.clear();
    for (std::string& name : inputs) config_.inputs.push_back({std::move(name), DataType::kFp32, {2}, {}, {}});
    for (std::string& name : outputs) config_.outputs.push_back({std::move(name), DataType::kFp32, {2}, {}, {}});
    return LoadFile(ModelPath());
  }

  Status LoadFile(const std::string& path) {
    instance_.reset();
    Result<std::unique_ptr<BackendModel>> model = backend_->Load(config_, path, Host(), 1);
    if (!model.ok()) return model.status();
    model_ = std::move(model).value();
    instance_ = std::move(model_->CreateInstance()).value();
    instance_->BindThread(*stream_);
    return Status();
  }

  // One row for each input, with these values.
  Result<std::vector<Tensor>> Run(std::vector<std::vector<float>> rows) {
    rows_ = std::move(rows);
    std::vector<TensorView> views;
    for (const auto& row : rows_) views.push_back({DataType::kFp32, {1, 2}, std::as_bytes(std::span(row))});
    return instance_->Run(views);
  }
  std::vector<float> RunOne(std::vector<std::vector<float>> rows, size_t output = 0) {
    return Floats(Run(std::move(rows)).value()[output].bytes);
  }

  ModelConfig config_;
  std::vector<std::vector<float>> rows_;
  std::unique_ptr<Backend> backend_ = MakeTorchScriptBackend();
  std::unique_ptr<BackendModel> model_;
  const std::unique_ptr<DeviceStream> stream_ = Host().CreateStream().value();
  std::unique_ptr<ModelInstance> instance_;
};

TEST_F(TorchScriptBackendTest, RunsAModel) {
  ASSERT_THAT(Load("def forward(self, x): return x + 1", {"x"}, {"y"}), IsOk());
  const std::vector<Tensor> outputs = Run({{1, 2}}).value();
  EXPECT_EQ(outputs[0].shape, (Shape{1, 2}));
  EXPECT_THAT(Floats(outputs[0].bytes), ElementsAre(2, 3));
}

TEST_F(TorchScriptBackendTest, BindsInputsByArgumentName) {
  ASSERT_THAT(Load("def forward(self, a, b): return a * 10 + b", {"b", "a"}, {"y"}), IsOk());
  EXPECT_THAT(RunOne({{2, 2}, {1, 1}}), ElementsAre(12, 12));
}

TEST_F(TorchScriptBackendTest, TakesADictOfInputs) {
  ASSERT_THAT(Load("def forward(self, d: Dict[str, Tensor]): return d['a'] * 10 + d['b']", {"b", "a"}, {"y"}), IsOk());
  EXPECT_THAT(RunOne({{2, 2}, {1, 1}}), ElementsAre(12, 12));
}

TEST_F(TorchScriptBackendTest, ArgumentsThatAreNoTensorsAreRefused) {
  EXPECT_THAT(Load("def forward(self, x, k: int): return x + k", {"x", "k"}, {"y"}),
              HasStatus(StatusCode::kInvalidArgument, AllOf(HasSubstr("'k'"), HasSubstr("int"))));
  EXPECT_THAT(Load("def forward(self, x: Optional[Tensor]): return x", {"x"}, {"y"}), IsOk());
}

TEST_F(TorchScriptBackendTest, TakesTuplesListsAndDictsOfOutputs) {
  ASSERT_THAT(Load("def forward(self, x): return x, x + 1", {"x"}, {"OUTPUT__1", "OUTPUT__0"}), IsOk());
  EXPECT_THAT(RunOne({{1, 2}}), ElementsAre(2, 3));
  ASSERT_THAT(Load("def forward(self, x): return [x, x + 1]", {"x"}, {"p", "q"}), IsOk());
  EXPECT_THAT(RunOne({{1, 2}}, 1), ElementsAre(2, 3));
  ASSERT_THAT(Load("def forward(self, x): return {'p': x, 'q': x + 1}", {"x"}, {"q", "p"}), IsOk());
  EXPECT_THAT(RunOne({{1, 2}}), ElementsAre(2, 3));
}

TEST_F(TorchScriptBackendTest, MissingOutputsAreNamed) {
  ASSERT_THAT(Load("def forward(self, x): return x", {"x"}, {"p", "q"}), IsOk());
  EXPECT_THAT(Run({{1, 2}}), HasStatus(StatusCode::kInvalidArgument, HasSubstr("output 'q'")));
  ASSERT_THAT(Load("def forward(self, x): return {'p': x}", {"x"}, {"q"}), IsOk());
  EXPECT_THAT(Run({{1, 2}}), HasStatus(StatusCode::kInvalidArgument, HasSubstr("output 'q'")));
}

TEST_F(TorchScriptBackendTest, OtherTypesAndScalarsAreRefused) {
  ASSERT_THAT(Load("def forward(self, x): return x.double()", {"x"}, {"y"}), IsOk());
  EXPECT_THAT(Run({{1, 2}}), HasStatus(StatusCode::kInvalidArgument, AllOf(HasSubstr("FP64"), HasSubstr("FP32"))));
  ASSERT_THAT(Load("def forward(self, x): return x.sum()", {"x"}, {"y"}), IsOk());
  EXPECT_THAT(Run({{1, 2}}), HasStatus(StatusCode::kInvalidArgument, HasSubstr("scalar")));
  ASSERT_THAT(Load("def forward(self, x): return 5", {"x"}, {"y"}), IsOk());
  EXPECT_THAT(Run({{1, 2}}), HasStatus(StatusCode::kInvalidArgument, HasSubstr("the model returned a Int")));
}

// The buffers behind inputs are used again for the next batch while the answers of this one are being sent.
TEST_F(TorchScriptBackendTest, OutputsNeverAliasInputs) {
  for (const char* source : {"def forward(self, x): return x", "def forward(self, x): return x.view([1, 2])"}) {
    ASSERT_THAT(Load(source, {"x"}, {"y"}), IsOk());
    const std::vector<Tensor> outputs = Run({{1, 2}}).value();
    rows_[0] = {7, 7};
    EXPECT_THAT(Floats(outputs[0].bytes), ElementsAre(1, 2)) << source;
  }
}

TEST_F(TorchScriptBackendTest, OutputsDoNotChangeWithTheModelsState) {
  ASSERT_THAT(Load("def forward(self, x):\n  self.state += x\n  return self.state", {"x"}, {"y"}), IsOk());
  const std::vector<Tensor> first = Run({{1, 2}}).value();
  const std::vector<Tensor> second = Run({{1, 2}}).value();
  EXPECT_THAT(Floats(first[0].bytes), ElementsAre(1, 2));
  EXPECT_THAT(Floats(second[0].bytes), ElementsAre(2, 4));
}

TEST_F(TorchScriptBackendTest, OutputsThatAreNotDenseAreMadeSo) {
  ASSERT_THAT(Load("def forward(self, x): return torch.cat([x, x]).t()[:1]", {"x"}, {"y"}), IsOk());
  EXPECT_THAT(RunOne({{1, 2}}), ElementsAre(1, 1));
}

TEST_F(TorchScriptBackendTest, ZeroSizedTensorsPass) {
  ASSERT_THAT(Load("def forward(self, x): return x + 1", {"x"}, {"y"}), IsOk());
  const TensorView empty{DataType::kFp32, {2, 0}, {}};
  const Result<std::vector<Tensor>> outputs = instance_->Run(std::span(&empty, 1));
  ASSERT_THAT(outputs, IsOk());
  EXPECT_EQ(outputs->at(0).shape, (Shape{2, 0}));
}

TEST_F(TorchScriptBackendTest, AFailureIsOneUsefulLine) {
  ASSERT_THAT(Load("def forward(self, x): return torch.mm(x, x)", {"x"}, {"y"}), IsOk());
  EXPECT_THAT(Run({{1, 2}}), HasStatus(StatusCode::kInternal, AllOf(HasSubstr("PyTorch execute failure: "),
                                                                    HasSubstr("1x2"), Not(HasSubstr("\n")))));
  ASSERT_THAT(Load("def forward(self, x):\n  assert bool((x > 0).all()), 'only positive'\n  return x", {"x"}, {"y"}),
              IsOk());
  EXPECT_THAT(Run({{-1, 2}}), HasStatus(StatusCode::kInternal, HasSubstr("only positive")));
}

TEST_F(TorchScriptBackendTest, ImpossibleMemoryIsExhaustion) {
  ASSERT_THAT(Load("def forward(self, x): return torch.zeros([1000000000000000])", {"x"}, {"y"}), IsOk());
  EXPECT_THAT(Run({{1, 2}}), HasStatus(StatusCode::kResourceExhausted, HasSubstr("memory")));
}

// B101: whatever lies in the file's place, the load says what is wrong.
TEST_F(TorchScriptBackendTest, FilesThatAreNoModelsAreNamed) {
  ASSERT_THAT(Load("def forward(self, x): return x", {"x"}, {"y"}), IsOk());
  std::ifstream file(ModelPath(), std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const std::string path = ::testing::TempDir() + "/bad.pt";
  for (const std::string& bad :
       {std::string(), std::string("x"), content.substr(0, content.size() / 2), std::string(1 << 20, 'r')}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    EXPECT_THAT(LoadFile(path), HasStatus(StatusCode::kInternal, AllOf(HasSubstr(path), Not(HasSubstr("\n")))));
  }
}

TEST_F(TorchScriptBackendTest, ParametersAreChecked) {
  config_.parameters = {{"INFERENCE_MODE", "maybe"}};
  EXPECT_THAT(Load("def forward(self, x): return x", {"x"}, {"y"}),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("INFERENCE_MODE 'maybe'")));
  config_.parameters = {{"INTRA_OP_THREAD_COUNT", "0"}};
  EXPECT_THAT(Load("def forward(self, x): return x", {"x"}, {"y"}),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("INTRA_OP_THREAD_COUNT '0'")));
  config_.parameters = {
      {"INFERENCE_MODE", "OFF"}, {"DISABLE_OPTIMIZED_EXECUTION", "True"}, {"ENABLE_WEIGHT_SHARING", "0"}};
  ASSERT_THAT(Load("def forward(self, x): return x + 1", {"x"}, {"y"}), IsOk());
  EXPECT_THAT(RunOne({{1, 2}}), ElementsAre(2, 3));
}

}  // namespace
}  // namespace ferry
