#include "loadgen/request_mix.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

// A class with two requests, of weight 3, and one with one, of weight 1.
RequestMix TwoClasses() {
  RequestMix mix;
  mix.classes = {{"small", 3}, {"large", 1}};
  for (const size_t class_index : {0, 0, 1}) mix.requests.push_back({{}, class_index});
  return mix;
}

TEST(RequestDrawTest, ClassesComeByWeightAndTheirRequestsAlike) {
  RequestDraw draw(TwoClasses(), 1);
  constexpr int kDraws = 40'000;
  std::vector<int> counts(3);
  for (int i = 0; i < kDraws; ++i) ++counts[draw.Next(std::nullopt)];
  EXPECT_NEAR(counts[0], kDraws * 3 / 8, kDraws / 50);
  EXPECT_NEAR(counts[1], kDraws * 3 / 8, kDraws / 50);
  EXPECT_NEAR(counts[2], kDraws / 4, kDraws / 50);
}

TEST(RequestDrawTest, AClassThatIsGivenIsDrawnFromAlone) {
  RequestDraw draw(TwoClasses(), 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(draw.Next(0), 2u);
    EXPECT_EQ(draw.Next(1), 2u);
  }
}

TEST(RequestDrawTest, TheSameSeedDrawsTheSame) {
  RequestDraw one(TwoClasses(), 7), other(TwoClasses(), 7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.Next(std::nullopt), other.Next(std::nullopt));
}

TEST(RequestDrawTest, CancelsTheShareThatWasAskedFor) {
  RequestDraw draw(TwoClasses(), 1);
  LoadClass some;
  some.cancel_share = 0.25;
  int cancelled = 0;
  for (int i = 0; i < 10'000; ++i) cancelled += draw.Cancels(some) ? 1 : 0;
  EXPECT_NEAR(cancelled, 2'500, 150);
  EXPECT_FALSE(draw.Cancels(LoadClass()));
}

}  // namespace
}  // namespace ferry
