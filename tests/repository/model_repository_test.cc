#include "ferry/model_repository.h"

#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/strings.h"
#include "execution/completion_pool.h"
#include "support/fake_backend.h"
#include "support/fake_gpu.h"
#include "support/host_device.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTensors[] =
    "input { name: \"x\" data_type: TYPE_FP32 dims: 2 } output { name: \"y\" data_type: TYPE_FP32 dims: 2 }";

class ModelRepositoryTest : public ::testing::Test {
 protected:
  ModelRepositoryTest() {
    folder_ = ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  void AddModel(const std::string& name, std::vector<int> versions, const std::string& config = kTensors) {
    for (const int version : versions) {
      const std::string path = StrCat(folder_, "/", name, "/", version);
      std::filesystem::create_directories(path);
      std::ofstream(path + "/model.pt") << "weights";
    }
    std::filesystem::create_directories(folder_ + "/" + name);
    std::ofstream(StrCat(folder_, "/", name, "/config.pbtxt")) << config;
  }

  // Loads everything; paths that contain "corrupt" fail.
  ModelRepository& Load(std::vector<std::string> folders = {}) {
    if (folders.empty()) folders = {folder_};
    return Load(std::move(folders), backend_, HostOnly());
  }
  ModelRepository& Load(std::vector<std::string> folders, Backend& backend, Devices& devices) {
    repository_.emplace(ModelRepository::Options{std::move(folders), 4, 2, {}, std::chrono::seconds(30)},
                        ModelRepository::Environment{{{"pytorch_libtorch", &backend}}, clock_, devices, pool_},
                        ModelRepository::Callbacks{[this](const std::string& model, bool ready) {
                                                     const std::lock_guard lock(mutex_);
                                                     readiness_[model] = ready;
                                                   },
                                                   [this] { loaded_.set_value(); },
                                                   [this](const Status& reason) { lost_.set_value(reason); }});
    EXPECT_THAT(repository_->Start(), IsOk());
    loaded_.get_future().wait();
    repository_->WaitUntilLoaded(kNever);
    return *repository_;
  }

  std::string folder_;
  SystemClock clock_;
  CompletionPool pool_{1};
  FakeBackend backend_{AddOne, [](const std::string& path) {
                         return path.find("corrupt") == std::string::npos ? Status() : InternalError("corrupt file");
                       }};
  std::mutex mutex_;
  std::map<std::string, bool> readiness_;
  std::promise<void> loaded_;
  std::promise<Status> lost_;
  std::optional<ModelRepository> repository_;
};

TEST_F(ModelRepositoryTest, ServesTheLatestVersionByDefault) {
  AddModel("a", {1, 3});
  ModelRepository& repository = Load();
  EXPECT_EQ(repository.Find("a", "").value()->version(), 3);
  EXPECT_EQ(repository.Find("a", "3").value()->version(), 3);
  EXPECT_THAT(repository.Find("a", "1"), HasStatus(StatusCode::kNotFound, HasSubstr("'a' version 1 is not found")));
  EXPECT_TRUE(repository.AllReady());
  EXPECT_TRUE(readiness_.at("a"));
}

TEST_F(ModelRepositoryTest, ServesAllVersionsWhenAsked) {
  AddModel("a", {1, 3}, StrCat(kTensors, "version_policy { all { } }"));
  EXPECT_THAT(Load().ReadyVersions("a"), ElementsAre(1, 3));
}

TEST_F(ModelRepositoryTest, AnUnknownModelIsNotFound) {
  EXPECT_THAT(Load().Find("nobody", ""), HasStatus(StatusCode::kNotFound, HasSubstr("'nobody' is not found")));
}

// B046: a version is digits and nothing else.
TEST_F(ModelRepositoryTest, AVersionIsADecimalNumber) {
  AddModel("a", {1});
  ModelRepository& repository = Load();
  for (const char* version : {"01", " 1", "1 ", "1abc", "1.0.0", "+1", "-1", "0x1", "99999999999999999999"}) {
    EXPECT_THAT(repository.Find("a", version), HasStatus(StatusCode::kInvalidArgument, HasSubstr(version))) << version;
  }
  EXPECT_THAT(repository.Find("a", "0"), HasStatus(StatusCode::kNotFound, HasSubstr("version 0")));
}

TEST_F(ModelRepositoryTest, AFailedLoadLeavesTheOthersServedAndKeepsItsReason) {
  AddModel("corrupt", {1});
  AddModel("good", {1});
  ModelRepository& repository = Load();
  EXPECT_THAT(repository.Find("good", ""), IsOk());
  EXPECT_THAT(repository.Find("corrupt", ""), HasStatus(StatusCode::kNotFound, HasSubstr("no available versions")));
  EXPECT_THAT(repository.Find("corrupt", "1"), HasStatus(StatusCode::kUnavailable, HasSubstr("not at ready state")));
  const std::vector<IndexEntry> index = repository.Index(false);
  ASSERT_EQ(index.size(), 2u);
  EXPECT_EQ(index[0].state, ModelState::kUnavailable);
  EXPECT_EQ(index[0].reason, "corrupt file");
  EXPECT_EQ(index[1].state, ModelState::kReady);
  EXPECT_THAT(repository.Index(true), ElementsAre(Field(&IndexEntry::name, "good")));
  EXPECT_FALSE(repository.AllReady());
  EXPECT_TRUE(repository.Loaded());
}

TEST_F(ModelRepositoryTest, ABadConfigurationIsShownWithoutVersion) {
  AddModel("bad", {1}, "max_batch_size: x");
  const std::vector<IndexEntry> index = Load().Index(false);
  ASSERT_EQ(index.size(), 1u);
  EXPECT_EQ(index[0].version, "");
  EXPECT_THAT(index[0].reason, HasSubstr("bad/config.pbtxt:1:17"));
}

TEST_F(ModelRepositoryTest, AVersionWithoutItsFileIsNamed) {
  AddModel("a", {1});
  std::filesystem::remove(folder_ + "/a/1/model.pt");
  EXPECT_THAT(Load().Index(false)[0].reason, HasSubstr("/a/1/model.pt"));
}

TEST_F(ModelRepositoryTest, AModelWithoutVersionsIsNotServed) {
  AddModel("a", {}, kTensors);
  EXPECT_THAT(Load().Index(false)[0].reason, HasSubstr("at least one version must be available"));
}

TEST_F(ModelRepositoryTest, AModelInTwoRepositoriesIsServedFromNeither) {
  AddModel("a", {1});
  std::filesystem::create_directories(folder_ + "/second");
  std::filesystem::copy(folder_ + "/a", folder_ + "/second/a", std::filesystem::copy_options::recursive);
  ModelRepository& repository = Load({folder_, folder_ + "/second"});
  EXPECT_THAT(repository.Find("a", ""), HasStatus(StatusCode::kNotFound, HasSubstr("no available versions")));
  EXPECT_THAT(repository.Index(false)[0].reason, AllOf(HasSubstr("several repositories"), HasSubstr("/second/a")));
}

TEST_F(ModelRepositoryTest, HiddenFoldersAreNoModels) {
  AddModel(".git", {1});
  EXPECT_THAT(Load().Index(false), IsEmpty());
}

TEST_F(ModelRepositoryTest, AnEmptyRepositoryIsLoadedAtOnce) { EXPECT_TRUE(Load().AllReady()); }

TEST_F(ModelRepositoryTest, AFolderThatCannotBeReadIsAnErrorOfTheStart) {
  ModelRepository repository({{"/no/such/folder"}, 1, 1, {}, {}}, {{}, clock_, HostOnly(), pool_},
                             {[](const std::string&, bool) {}, [] {}});
  EXPECT_THAT(repository.Start(), HasStatus(StatusCode::kUnavailable, HasSubstr("/no/such/folder")));
}

TEST_F(ModelRepositoryTest, AHandleOutlivesTheRepositorysEntry) {
  AddModel("a", {1});
  ModelRepository& repository = Load();
  const ModelHandle handle = repository.Find("a", "").value();
  repository.Stop();
  EXPECT_THAT(repository.Find("a", "1"), HasStatus(StatusCode::kUnavailable, HasSubstr("not at ready state")));
  TestRequest late = MakeRows(1, 2);
  handle->Submit(std::move(late.request));
  EXPECT_THAT(late.answer.get(), HasStatus(StatusCode::kUnavailable, HasSubstr("stopped")));
}

// One model on the host and one on the only GPU.
class LostDeviceTest : public ModelRepositoryTest {
 protected:
  void SetUp() override {
    ModelRepositoryTest::SetUp();
    AddModel("host", {1}, StrCat("max_batch_size: 4 ", kTensors, "instance_group { kind: KIND_CPU }"));
    AddModel("gpu", {1}, StrCat("max_batch_size: 4 ", kTensors));
    places_.gpu().RunFreely();
    Load({folder_}, on_devices_, places_.devices());
  }

  void TearDown() override { repository_.reset(); }  // before the devices

  static Result<InferResponse> Ask(const ModelHandle& model) {
    TestRequest made = MakeRows(1, 2, 1);
    model->Submit(std::move(made.request));
    return made.answer.get();
  }

  HostAndFakeGpu places_;
  FakeBackend on_devices_{AddOneOn};
};

TEST_F(LostDeviceTest, ItsModelsAreNotReadyAnyMoreAndTheOthersGoOn) {
  const ModelHandle model = repository_->Find("gpu", "").value();
  EXPECT_THAT(Ask(model), IsOk());
  EXPECT_TRUE(repository_->AllReady());
  places_.gpu().Die("illegal address");
  EXPECT_THAT(Ask(model), HasStatus(StatusCode::kUnavailable, HasSubstr("illegal address")));
  EXPECT_THAT(lost_.get_future().get(), HasStatus(StatusCode::kUnavailable, HasSubstr("illegal address")));
  EXPECT_TRUE(repository_->HasLostModels());
  EXPECT_FALSE(repository_->AllReady());
  EXPECT_FALSE(readiness_["gpu"]);
  EXPECT_THAT(repository_->Find("gpu", "1"), HasStatus(StatusCode::kUnavailable, HasSubstr("not at ready state")));
  EXPECT_TRUE(readiness_["host"]);
  EXPECT_THAT(Ask(repository_->Find("host", "").value()), IsOk());
}

// Handles given out before stay good, so that a batch may meet the failure again.
TEST_F(LostDeviceTest, IsToldOfOnce) {
  const ModelHandle model = repository_->Find("gpu", "").value();
  places_.gpu().Die("illegal address");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Ask(model), HasStatus(StatusCode::kUnavailable, HasSubstr("")));
  lost_.get_future().wait();  // a second report would have thrown
}

}  // namespace
}  // namespace ferry
