// How many operators of libtorch learning takes: each is a launch on a GPU, and as good as free only for many
// rows.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "lab/train/training_run.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

std::atomic<std::int64_t> dispatched = 0;

std::unique_ptr<at::ObserverContext> count_one(const at::RecordFunction&) {
  ++dispatched;
  return nullptr;
}

/// Operators dispatched since it was made, by any thread, those within others and of the backward pass
/// included.
class OperatorCount {
 public:
  OperatorCount()
      : handle_(at::addGlobalCallback(
            at::RecordFunctionCallback(count_one).scopes({at::RecordScope::FUNCTION}))) {
    dispatched = 0;
  }
  ~OperatorCount() { at::removeCallback(handle_); }
  std::int64_t so_far() const { return dispatched; }

 private:
  at::CallbackHandle handle_;
};

/// What the same took with attention and passes of a sequence's own, and packs of 1,024 tokens.
const std::map<std::string, std::int64_t> kOneByOne = {
    {"eagle3", 23552},        {"earlyexit", 554},     {"eagle", 6356},
    {"mtp", 23912},           {"medusa", 1060},       {"hydra", 1423},
    {"hydra_prefix", 20598},  {"medusa_shared", 785}, {"hydra_shared", 992},
    {"dflash", 70857},        {"dspark", 76621},      {"dflash_shared", 70858},
    {"dspark_shared", 76851}, {"draft", 45619},       {"lm", 44581}};

class Operators : public testing::TestWithParam<PartCase> {};

TEST_P(Operators, AreFewForAThousandTokens) {
  const TrainTarget target;
  std::vector<std::vector<TokenId>> texts;
  std::int64_t tokens = 0;
  for (std::uint32_t i = 0; tokens < 20'000; ++i) {
    texts.push_back(toy_tokens(i, 24 + static_cast<int>(i * 7 % 40)));
    tokens += std::ssize(texts.back());
  }
  const std::vector<std::uint8_t> learn(64, 1);
  std::vector<Example> examples;
  for (const auto& text : texts)
    examples.push_back({text, std::span(learn).first(text.size()), examples.size()});
  const auto learner = GetParam().make(target);
  const OperatorCount count;
  for (std::size_t begin = 0, end = 0; begin < examples.size(); begin = end) {
    for (std::int64_t pack = 0; end < examples.size() && pack < TrainingOptions{}.pack_tokens; ++end)
      pack += std::ssize(examples[end].tokens);
    learner->run(std::span(examples).subspan(begin, end - begin), true);
  }
  const std::int64_t found = count.so_far() * 1000 / tokens;
  RecordProperty("operators", static_cast<int>(found));
  EXPECT_LE(20 * found, kOneByOne.at(GetParam().name)) << found;
}

INSTANTIATE_TEST_SUITE_P(Parts, Operators, testing::ValuesIn(all_parts()), part_name);

}  // namespace
}  // namespace augur
