#include "execution/output_memory.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TEST(OutputMemoryTest, CountsUntilTheLastOwnerLetsGo) {
  OutputMemory memory(100);
  std::vector outputs = {ZeroTensor(DataType::kFp32, {10}), ZeroTensor(DataType::kUint8, {70})};
  memory.Track(&outputs);
  EXPECT_EQ(memory.held(), 110);
  EXPECT_TRUE(memory.IsScarce());
  const Tensor row = outputs[0];
  outputs.clear();
  EXPECT_EQ(memory.held(), 40);
  EXPECT_FALSE(memory.IsScarce());
  EXPECT_EQ(row.bytes[39], std::byte{0});
}

TEST(OutputMemoryTest, TensorsMayOutliveIt) {
  std::vector outputs = {ZeroTensor(DataType::kFp32, {10})};
  {
    OutputMemory memory(100);
    memory.Track(&outputs);
  }
  EXPECT_EQ(outputs[0].bytes.size(), 40u);
}

}  // namespace
}  // namespace ferry
