#include "loadgen/half_precision.h"

#include <gmock/gmock.h>

#include <limits>

namespace ferry {
namespace {

TEST(HalfPrecisionTest, EveryFp16SurvivesTheWayToAFloatAndBack) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = FloatFromFp16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FloatFromFp16(Fp16FromFloat(value))));
    } else {
      EXPECT_EQ(Fp16FromFloat(value), bits);
    }
  }
}

// Between each two neighbours: the middle goes to the even one, what is beside it to the nearer.
TEST(HalfPrecisionTest, RoundsToTheNearestFp16AndTiesToEven) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = FloatFromFp16(bits);
    const float high = FloatFromFp16(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(Fp16FromFloat(middle), bits + (bits & 1));
    EXPECT_EQ(Fp16FromFloat(std::nextafter(middle, low)), bits);
    EXPECT_EQ(Fp16FromFloat(-std::nextafter(middle, high)), 0x8000 | (bits + 1));
  }
}

TEST(HalfPrecisionTest, WhatIsTooLargeForFp16BecomesInfinite) {
  EXPECT_EQ(Fp16FromFloat(65504), 0x7bff);
  EXPECT_EQ(Fp16FromFloat(65519), 0x7bff);
  EXPECT_EQ(Fp16FromFloat(65520), 0x7c00);
  EXPECT_EQ(Fp16FromFloat(-std::numeric_limits<float>::infinity()), 0xfc00);
}

TEST(HalfPrecisionTest, Bf16IsTheUpperHalfOfAFloatRounded) {
  EXPECT_EQ(Bf16FromFloat(1), 0x3f80);
  EXPECT_EQ(Bf16FromFloat(-2.5), 0xc020);
  EXPECT_EQ(Bf16FromFloat(1 + 1.0F / 256), 0x3f80);  // a tie, to even
  EXPECT_EQ(Bf16FromFloat(1 + 3.0F / 256), 0x3f82);
  EXPECT_TRUE(std::isnan(FloatFromBf16(Bf16FromFloat(std::nanf("")))));
  EXPECT_EQ(FloatFromBf16(0x3f82), 1 + 1.0F / 64);
}

}  // namespace
}  // namespace ferry
