#include "server/options.h"

#include "server/cpu_count.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CommandLine Parse(std::vector<std::string> arguments) {
  return std::get<CommandLine>(ParseCommandLine(std::move(arguments)).value());
}

TEST(OptionsTest, HasTritonsDefaults) {
  const ServerOptions options = Parse({"--model-repository=/models"}).server;
  EXPECT_THAT(options.model_repositories, ElementsAre("/models"));
  EXPECT_EQ(options.grpc_port, 8001);
  EXPECT_EQ(options.metrics_port, 8002);
  EXPECT_EQ(options.exit_timeout, std::chrono::seconds(30));
  EXPECT_TRUE(options.strict_readiness);
}

TEST(OptionsTest, TakesBothSpellingsOfAValueAndRepeatedRepositories) {
  const ServerOptions options = Parse({"serve", "--model-repository", "/a", "--model-repository=/b", "--grpc-port", "0",
                                       "--strict-readiness=false"})
                                    .server;
  EXPECT_THAT(options.model_repositories, ElementsAre("/a", "/b"));
  EXPECT_EQ(options.grpc_port, 0);
  EXPECT_FALSE(options.strict_readiness);
}

TEST(OptionsTest, AnUnknownFlagComesWithTheNearestKnownOne) {
  EXPECT_THAT(ParseCommandLine({"--model-repository=/m", "--grpc-prot=1"}),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("'--grpc-prot'; did you mean --grpc-port?")));
  EXPECT_THAT(ParseCommandLine({"--model-repository=/m", "--zzzzzzzzzzzz"}),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("see ferry --help")));
}

TEST(OptionsTest, BadValuesAreRefused) {
  EXPECT_THAT(ParseCommandLine({"--model-repository=/m", "--grpc-port=70000"}),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("--grpc-port")));
  EXPECT_THAT(ParseCommandLine({"--model-repository=/m", "--model-control-mode=explicit"}),
              HasStatus(StatusCode::kInvalidArgument, HasSubstr("explicit")));
  EXPECT_THAT(ParseCommandLine({}), HasStatus(StatusCode::kInvalidArgument, HasSubstr("--model-repository")));
}

TEST(OptionsTest, FlagsOfTritonWithoutEffectAreNamed) {
  EXPECT_THAT(Parse({"--model-repository=/m", "--http-port=8000"}).warnings, ElementsAre(HasSubstr("--http-port")));
}

TEST(OptionsTest, PrintsHelpAndVersion) {
  EXPECT_THAT(std::get<TextToPrint>(ParseCommandLine({"--help"}).value()).text, HasSubstr("--model-repository"));
  EXPECT_THAT(std::get<TextToPrint>(ParseCommandLine({"--version"}).value()).text, HasSubstr("ferry 0."));
}

TEST(CpuCountTest, ReadsQuotasOfBothControlGroupVersions) {
  EXPECT_EQ(CoresOfQuota("200000 100000\n"), 2);
  EXPECT_EQ(CoresOfQuota("150000 100000"), 2);
  EXPECT_EQ(CoresOfQuota("max 100000"), std::nullopt);
  EXPECT_EQ(CoresOfQuota("-1\n 100000\n"), std::nullopt);
  EXPECT_EQ(CoresOfQuota(""), std::nullopt);
  EXPECT_GE(AvailableCores(), 1);
}

}  // namespace
}  // namespace ferry
