#include "execution/completion_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace ferry {
namespace {

TEST(CompletionPoolTest, RunsTasksOnAnotherThread) {
  CompletionPool pool(1);
  std::promise<std::thread::id> ran_on;
  pool.Post([&] { ran_on.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran_on.get_future().get(), std::this_thread::get_id());
}

TEST(CompletionPoolTest, TheDestructorRunsWhatIsLeft) {
  std::atomic<int> ran = 0;
  {
    CompletionPool pool(2);
    for (int i = 0; i < 100; ++i) pool.Post([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 100);
}

TEST(CompletionPoolTest, ReleasesWhatATaskHolds) {
  auto held = std::make_shared<int>(1);
  {
    CompletionPool pool(1);
    pool.Post([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace ferry
