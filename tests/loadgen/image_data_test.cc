#include "loadgen/image_data.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

ModelDescription ModelOf(DataType type, Shape shape) {
  ModelDescription model;
  model.name = "classifier";
  model.inputs = {{"image", type, std::move(shape)}};
  return model;
}

// A folder with images of one row and two pixels, pure red and (0, 51, 255).
class ImageDataTest : public testing::Test {
 protected:
  ImageDataTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Write("b.ppm", kPixels);
  }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
  }

  std::vector<float> Floats(const Shape& shape, ImageScaling scaling) {
    const auto steps = ReadImageSteps(folder_ + "/b.ppm", ModelOf(DataType::kFp32, shape), {}, scaling);
    EXPECT_TRUE(steps.ok()) << steps.status().ToString();
    if (!steps.ok()) return {};
    const std::string& bytes = steps->front().inputs.front().bytes;
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  const std::string kPixels = std::string("P6 2 1 255\n") + "\xff" + std::string(3, '\0') + "\x33\xff";
  const std::string folder_ = testing::TempDir() + "/image_data_test";
};

TEST_F(ImageDataTest, ChannelsComeAsTheShapeHasThem) {
  EXPECT_THAT(Floats({1, 2, 3}, ImageScaling::kNone), ElementsAre(255, 0, 0, 0, 51, 255));
  EXPECT_THAT(Floats({3, 1, 2}, ImageScaling::kNone), ElementsAre(255, 0, 0, 51, 0, 255));
  EXPECT_THAT(Floats({1, 3, 1, 2}, ImageScaling::kNone), SizeIs(6));
}

TEST_F(ImageDataTest, PixelsAreScaled) {
  EXPECT_THAT(Floats({3, 1, 2}, ImageScaling::kUnit), ElementsAre(1, 0, 0, 0.2F, 0, 1));
  EXPECT_THAT(Floats({3, 1, 2}, ImageScaling::kInception), ElementsAre(1, -1, -1, testing::FloatEq(-0.6F), -1, 1));
  EXPECT_NEAR(Floats({3, 1, 2}, ImageScaling::kImagenet)[0], (1 - 0.485) / 0.229, 1e-5);
}

TEST_F(ImageDataTest, ImagesAreResized) {
  EXPECT_THAT(Floats({3, 4, 8}, ImageScaling::kNone), SizeIs(96));
  EXPECT_THAT(Floats({1, 1, 2}, ImageScaling::kNone), SizeIs(2));  // gray
}

TEST_F(ImageDataTest, AFolderIsReadInTheOrderOfNames) {
  Write("a.PPM", kPixels);
  Write("notes.txt", "none");
  const auto steps = ReadImageSteps(folder_, ModelOf(DataType::kUint8, {1, 2, 3}), {}, ImageScaling::kNone);
  ASSERT_TRUE(steps.ok()) << steps.status().ToString();
  EXPECT_THAT(*steps, SizeIs(2));
  EXPECT_EQ(steps->front().inputs.front().bytes, kPixels.substr(kPixels.size() - 6));
}

TEST_F(ImageDataTest, AModelThatDecodesGetsTheFile) {
  const auto steps = ReadImageSteps(folder_, ModelOf(DataType::kBytes, {-1}), {}, ImageScaling::kNone);
  ASSERT_TRUE(steps.ok()) << steps.status().ToString();
  std::string element;
  AppendBytesElement(kPixels, element);
  EXPECT_EQ(steps->front().inputs.front().bytes, element);
  EXPECT_THAT(steps->front().inputs.front().shape, ElementsAre(1));
}

TEST_F(ImageDataTest, WhatDoesNotGoTogetherIsTold) {
  const auto error = [&](const std::string& path, const ModelDescription& model, ImageScaling scaling) {
    return ReadImageSteps(path, model, {}, scaling).status().message();
  };
  const ModelDescription floats = ModelOf(DataType::kFp32, {3, 1, 2});
  EXPECT_THAT(error(folder_, ModelOf(DataType::kFp32, {4}), ImageScaling::kNone), HasSubstr("is not of images"));
  EXPECT_THAT(error(folder_, ModelOf(DataType::kInt64, {3, 1, 2}), ImageScaling::kNone), HasSubstr("is not of images"));
  EXPECT_THAT(error(folder_, ModelOf(DataType::kUint8, {3, 1, 2}), ImageScaling::kUnit), HasSubstr("scaled"));
  EXPECT_THAT(error(folder_, ModelOf(DataType::kFp32, {3, -1, -1}), ImageScaling::kNone), HasSubstr("--shape"));
  EXPECT_THAT(error(folder_ + "/absent", floats, ImageScaling::kNone), HasSubstr("cannot be read"));
  Write("broken.jpg", "\xff\xd8\xff\xe0 no more");
  EXPECT_THAT(error(folder_ + "/broken.jpg", floats, ImageScaling::kNone), HasSubstr("broken.jpg: is no image"));
  ModelDescription two = floats;
  two.inputs.push_back(two.inputs.front());
  EXPECT_THAT(error(folder_, two, ImageScaling::kNone), HasSubstr("has 2 inputs"));
}

}  // namespace
}  // namespace ferry
