// Random calls of the C interface: tests/fuzz/random_c_calls.h.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "fuzz/random_c_calls.h"
#include "support/temporary_folder.h"

namespace {

using namespace augur::fuzz;

const std::string kModel = std::string(AUGUR_SOURCE_DIR) + "/models/stories260k";

/// Returns how many calls were refused.
int call_at_random(Choices choices, int calls) {
  const augur::testing_support::TemporaryFolder folder;
  Handles handles;
  const int refused = RandomCalls(std::move(choices), handles, kModel, folder.path().string()).run(calls);
  RandomCalls::free_all(handles);
  return refused;
}

/// AUGUR_RANDOM_CALLS: how many seeds, of a thousand calls each.
TEST(CRandomCalls, EndWellAndEveryRefusalHasAKind) {
  const char* const asked = std::getenv("AUGUR_RANDOM_CALLS");
  const int seeds = asked == nullptr ? 10 : std::atoi(asked);
  for (int seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    const int refused = call_at_random(Choices(static_cast<std::uint64_t>(seed)), 1000);
    EXPECT_GT(refused, 100);
    EXPECT_LT(refused, 990) << "nothing succeeds";
  }
}

TEST(CRandomCalls, OfTwoThreadsEndWell) {
  const augur::testing_support::TemporaryFolder folder;
  Handles handles;
  std::vector<int> refused(2);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < refused.size(); ++i) {
    threads.emplace_back([&, i] {
      refused[i] = RandomCalls(Choices(100 + i), handles, kModel, folder.path().string()).run(1000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  RandomCalls::free_all(handles);
  EXPECT_GT(refused[0] + refused[1], 100);
}

/// What the fuzzer fuzz_c_api has kept.
TEST(CRandomCalls, OfSeedsEndWell) {
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(AUGUR_SOURCE_DIR "/tests/fuzz/corpus/c_api")) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_GE(call_at_random(Choices(bytes), 10'000), 0);
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

}  // namespace
