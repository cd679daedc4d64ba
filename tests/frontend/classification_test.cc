#include "frontend/classification.h"

#include <limits>

#include "support/fake_backend.h"
#include "support/status_matchers.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Elements(const Tensor& tensor) {
  std::vector<std::string> elements;
  const char* at = reinterpret_cast<const char*>(tensor.bytes.data());
  const char* const end = at + tensor.bytes.size();
  while (at < end) {
    uint32_t length = 0;
    std::memcpy(&length, at, sizeof(length));
    elements.emplace_back(at + sizeof(length), length);
    at += sizeof(length) + length;
  }
  return elements;
}

TensorConfig Output(std::vector<std::string> labels = {}) { return {"y", DataType::kFp32, {3}, {}, std::move(labels)}; }

TEST(ClassifyTest, GreatestFirstWithLabels) {
  const Tensor classes = Classify(Output({"cat", "dog"}), false, FloatTensor({3}, {0.25f, 0.5f, -1}), 2).value();
  EXPECT_EQ(classes.type, DataType::kBytes);
  EXPECT_EQ(classes.shape, Shape{2});
  EXPECT_THAT(Elements(classes), ElementsAre("0.500000:1:dog", "0.250000:0:cat"));
}

TEST(ClassifyTest, EachRowByItself) {
  const Tensor classes = Classify(Output(), true, FloatTensor({2, 3}, {1, 2, 3, 6, 5, 4}), 1).value();
  EXPECT_EQ(classes.shape, (Shape{2, 1}));
  EXPECT_THAT(Elements(classes), ElementsAre("3.000000:2", "6.000000:0"));
}

TEST(ClassifyTest, MoreThanThereAreGivesAll) {
  EXPECT_EQ(Classify(Output(), false, FloatTensor({3}, {1, 2, 3}), 10).value().shape, Shape{3});
}

TEST(ClassifyTest, NanComesLastAndEqualValuesByIndex) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor classes = Classify(Output(), false, FloatTensor({4}, {nan, 1, nan, 1}), 4).value();
  EXPECT_THAT(Elements(classes), ElementsAre("1.000000:1", "1.000000:3", "nan:0", "nan:2"));
}

TEST(ClassifyTest, AMillionElementsAreTheLimit) {
  EXPECT_THAT(Classify(Output(), false, ZeroTensor(DataType::kFp32, {1'000'001}), 1),
              HasStatus(StatusCode::kInvalidArgument, ::testing::HasSubstr("1000001")));
}

}  // namespace
}  // namespace ferry
