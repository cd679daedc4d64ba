#include "execution/execution_sizes.h"

#include <gmock/gmock.h>

namespace ferry {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// The perceptron of libtorch.md: two rows take longer than four.
Duration Perceptron(int64_t rows) {
  static const std::map<int64_t, int> kTimes = {{1, 4190}, {2, 9100}, {3, 8600}, {4, 7980}, {5, 8500}, {6, 9000}};
  return microseconds(kTimes.at(rows));
}

TEST(ExecutionSizesTest, ASizeThatTakesLongerThanALargerOneIsRoundedUp) {
  const ExecutionSizes sizes = MeasureExecutionSizes(6, Perceptron);
  EXPECT_THAT(sizes.rounded(), ElementsAre(Pair(2, 4), Pair(3, 4)));
  EXPECT_EQ(sizes.For(1), 1);
  EXPECT_EQ(sizes.For(2), 4);
  EXPECT_EQ(sizes.For(5), 5);
}

TEST(ExecutionSizesTest, ASmallGainCountsForNothing) {
  EXPECT_THAT(MeasureExecutionSizes(2, [](int64_t rows) { return microseconds(rows == 1 ? 1000 : 960); }).rounded(),
              IsEmpty());
  EXPECT_THAT(MeasureExecutionSizes(2, [](int64_t rows) { return microseconds(rows == 1 ? 60 : 20); }).rounded(),
              IsEmpty());
}

// One run in a busy moment makes a size look slow.
TEST(ExecutionSizesTest, ABusyMomentDecidesNothing) {
  int runs_of_three = 0;
  const auto run = [&](int64_t rows) -> std::optional<Duration> {
    const bool busy = rows == 3 && ++runs_of_three <= 3;
    return microseconds(1000 * rows + (busy ? 50'000 : 0));
  };
  EXPECT_THAT(MeasureExecutionSizes(8, run).rounded(), IsEmpty());
}

TEST(ExecutionSizesTest, WithoutTimeForAllSizesThoseThatWereMeasuredCount) {
  const auto until = [](int64_t largest) {
    return [largest](int64_t rows) { return rows > largest ? std::nullopt : std::optional(Perceptron(rows)); };
  };
  EXPECT_THAT(MeasureExecutionSizes(6, until(4)).rounded(), ElementsAre(Pair(2, 4), Pair(3, 4)));
  EXPECT_THAT(MeasureExecutionSizes(6, until(3)).rounded(), ElementsAre(Pair(2, 3)));
  EXPECT_THAT(MeasureExecutionSizes(6, until(2)).rounded(), IsEmpty());
}

}  // namespace
}  // namespace ferry
