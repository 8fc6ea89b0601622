// Once its buffers have grown, a decoding step allocates nothing. What depends on the text's length
// (attention scratch, the n-gram index) still grows, by leaps: a handful in 200 tokens, where one a step
// would be 200.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "draft/ngram_drafter.h"
#include "support/generation.h"

namespace {
std::atomic<std::int64_t> allocations{0};
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace augur {
namespace {

using testing_support::Stories;

constexpr std::int64_t kLeaps = 5;

class SteadyState : public testing::Test {
 protected:
  /// Allocations of the steps from the `warm`-th on.
  std::int64_t count(std::vector<Speculator> speculators, const SamplingParams& sampling) {
    SequenceOptions options{.sampling = sampling, .max_tokens = 400, .speculators = std::move(speculators)};
    Sequence sequence(*stories_.model, stories_.prompt("Once upon a time"), std::move(options));
    Decoder decoder(*stories_.model);
    Sequence* const batch[] = {&sequence};
    std::int64_t steady = 0;
    while (!sequence.finished()) {
      const std::int64_t before = allocations;
      decoder.step(batch);
      if (sequence.generated().size() > 200) steady += allocations - before;
    }
    return steady;
  }

  Stories stories_;
};

TEST_F(SteadyState, PlainDecodingAllocatesNothing) {
  EXPECT_LE(count({}, {}), kLeaps);
  EXPECT_LE(count({}, {.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1.1f, .seed = 1}), kLeaps);
}

TEST_F(SteadyState, SpeculationAllocatesNothing) {
  const Checkpoint head = Checkpoint::open(testing_support::stories_path());
  const auto shared = find_drafter_type("draft").load({.backend = stories_.backend,
                                                       .target = *stories_.model,
                                                       .tokenizer = *stories_.tokenizer,
                                                       .target_path = "stories260k",
                                                       .head = &head,
                                                       .context = 512});
  EXPECT_LE(count(testing_support::one(shared->make({.context = 512}),
                                       std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4})),
                  {}),
            kLeaps);
  EXPECT_LE(count(testing_support::one(shared->make({.context = 512}),
                                       std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 20})),
                  {.temperature = 1.0f, .seed = 3}),
            kLeaps);
}

TEST_F(SteadyState, NgramsAllocateNothing) {
  EXPECT_LE(count(testing_support::one(std::make_unique<NgramDrafter>(1, 3),
                                       std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 8})),
                  {}),
            kLeaps);
}

}  // namespace
}  // namespace augur
