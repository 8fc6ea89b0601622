// Several threads, each with a session of its own, on one team of threads: everyone gets the tokens that they
// would get alone. Meant for the thread sanitizer as much as for the comparison.
#include <gtest/gtest.h>

#include <thread>

#include "draft/ngram_drafter.h"
#include "support/generation.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::one;
using testing_support::stories_path;

constexpr std::size_t kSessions = 3;

/// Sessions differ in prompts, sampling, and in how they draft; the first one is plain.
GenerateOptions options_of(std::size_t session) {
  GenerateOptions options{.tokens = 40, .parallel = session + 1};
  if (session > 0) {
    options.sampling = {.temperature = 0.9f, .seed = session};
    options.speculators = [] {
      return one(std::make_unique<NgramDrafter>(1, 3),
                 std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4}));
    };
  }
  return options;
}

TEST(Sessions, InSeveralThreadsShareOneTeam) {
  Backend backend(2);
  const std::unique_ptr<Device> device = testing_support::test_device(backend);
  const Checkpoint checkpoint = Checkpoint::open(stories_path());
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  std::vector<std::vector<TokenId>> prompts;
  for (const char* text : {"Once upon a time", "Lily and Tom went to the park.", "One day,"}) {
    prompts.push_back(tokenizer->encode(text));
  }
  std::unique_ptr<Model> models[kSessions];
  Generated alone[kSessions];
  Generated together[kSessions];
  for (std::size_t i = 0; i < kSessions; ++i) {
    models[i] = Model::load(backend, checkpoint, {.device = device.get()});
    alone[i] = generate(*models[i], prompts, options_of(i));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kSessions; ++i) {
      threads.emplace_back([&, i] { together[i] = generate(*models[i], prompts, options_of(i)); });
    }
  }
  for (std::size_t i = 0; i < kSessions; ++i)
    EXPECT_EQ(together[i].tokens, alone[i].tokens) << "session " << i;
  EXPECT_GT(together[1].total.accepted_tokens, 0);
}

}  // namespace
}  // namespace augur
