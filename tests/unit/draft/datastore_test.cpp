#include "draft/lookup/datastore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"
#include "draft/lookup/suffix_array.h"
#include "draft/suffix_drafter.h"
#include "support/stories.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::HasSubstr;

std::vector<std::int32_t> sorted_suffixes(const std::vector<std::int32_t>& text) {
  std::vector<std::int32_t> order(text.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::lexicographical_compare(text.begin() + a, text.end(), text.begin() + b, text.end());
  });
  return order;
}

TEST(SuffixArray, EqualsSorting) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    // Of symbols of one byte, two and three.
    const unsigned largest[] = {2, 30, 300, 70000};
    const auto alphabet = static_cast<std::int32_t>(1 + random() % largest[round % 4]);
    std::vector<std::int32_t> text(random() % 60);
    for (auto& symbol : text) symbol = static_cast<std::int32_t>(random() % static_cast<unsigned>(alphabet));
    ASSERT_EQ(suffix_array(text, alphabet), sorted_suffixes(text)) << "round " << round;
  }
  // A text that recurs on itself.
  std::vector<std::int32_t> fibonacci{1}, before{0};
  while (fibonacci.size() < 3000) {
    const std::vector<std::int32_t> next = [&] {
      std::vector<std::int32_t> joined = fibonacci;
      joined.insert(joined.end(), before.begin(), before.end());
      return joined;
    }();
    before = std::exchange(fibonacci, next);
  }
  for (const std::int32_t alphabet : {2, 256, 257, 65536, 65537}) {
    EXPECT_EQ(suffix_array(fibonacci, alphabet), sorted_suffixes(fibonacci));
  }
}

class DatastoreTest : public testing::Test {
 protected:
  std::string build(const std::vector<std::vector<TokenId>>& documents) {
    DatastoreBuilder builder(*tokenizer_);
    for (const auto& document : documents) builder.add(document);
    builder.write(file_);
    return file_;
  }
  std::string bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string refusal(const std::string& content) {
    std::ofstream(file_, std::ios::binary) << content;
    try {
      Datastore store(file_, *tokenizer_, 512);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file_));
      return error.what();
    }
    return "accepted";
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Checkpoint::open(testing_support::stories_path()).load_tokenizer();
  testing_support::TemporaryFolder folder_;
  std::string file_ = (folder_.path() / "store").string();
};

TEST_F(DatastoreTest, FindsAndCountsLikeAScan) {
  std::mt19937 random(9);
  std::vector<std::vector<TokenId>> documents(8);
  std::vector<TokenId> all;
  for (auto& document : documents) {
    for (unsigned i = 0; i < 200 + random() % 100; ++i)
      document.push_back(static_cast<TokenId>(random() % 4));
    all.insert(all.end(), document.begin(), document.end());
    all.push_back(tokenizer_->vocab_size());
  }
  const Datastore store(build(documents), *tokenizer_, 512);
  ASSERT_EQ(store.size(), std::ssize(all));
  std::vector<Datastore::Child> children;
  for (int round = 0; round < 500; ++round) {
    std::vector<TokenId> pattern(1 + random() % 6);
    for (TokenId& token : pattern) token = static_cast<TokenId>(random() % 4);
    std::map<TokenId, int> follow;
    int count = 0;
    for (auto at = all.begin();; ++at) {
      at = std::search(at, all.end(), pattern.begin(), pattern.end());
      if (at == all.end()) break;
      ++count;
      if (const auto next = at + std::ssize(pattern); next != all.end()) ++follow[*next];
    }
    const Datastore::Range range = store.find(pattern);
    ASSERT_EQ(range.count(), count);
    if (count == 0) continue;
    const double least = 0.05 * static_cast<double>(random() % 10);
    store.children(range, least, children);
    std::map<TokenId, int> found;
    for (const auto& child : children) found[child.token] = static_cast<int>(child.range.count());
    follow.erase(tokenizer_->vocab_size());
    std::erase_if(follow, [&](const auto& f) { return f.second < least * count; });
    ASSERT_EQ(found, follow) << "round " << round;
  }
}

TEST_F(DatastoreTest, DrawsADraftFromItsDocuments) {
  const Datastore store(build({{5, 6, 7, 8, 9}, {1, 5, 6, 7, 4}, {2, 5, 6, 7, 8, 3}}), *tokenizer_, 512);
  SuffixDrafter drafter(std::make_shared<SuffixMemory>(32, 1 << 10), &store, {});
  const std::vector<TokenId> text{40, 5, 6};
  drafter.sync({.tokens = text, .first_position = 0, .next = 7});
  DraftTree tree;
  tree.reset(7, 3);
  drafter.expand(tree, std::vector<std::int32_t>{0}, {.top_k = 8, .max_nodes = 8, .branching = true});
  // 8 in two of three, then 9 and 3 in one of two; 4 in one of three. Nothing crosses a document's end.
  const std::int32_t eight = tree.find_child(0, 8);
  ASSERT_GT(eight, 0);
  EXPECT_NEAR(std::exp(tree.log_probs()[static_cast<std::size_t>(eight)]), 2.0 / 3 * 0.6, 1e-6);
  EXPECT_GT(tree.find_child(0, 4), 0);
  EXPECT_GT(tree.find_child(eight, 9), 0);
  EXPECT_GT(tree.find_child(eight, 3), 0);
  EXPECT_EQ(tree.size(), 5);
}

TEST_F(DatastoreTest, TokensThatTheTargetDoesNotKnowAreSkipped) {
  build({{5, 6, 500}, {5, 6, 8}});
  for (const std::int32_t vocab : {400, 501}) {
    const Datastore store(file_, *tokenizer_, vocab);
    std::vector<Datastore::Child> children;
    store.children(store.find(std::vector<TokenId>{5, 6}), 0.0, children);
    ASSERT_EQ(children.size(), vocab > 500 ? 2u : 1u);
    EXPECT_EQ(children[0].token, 8);
  }
}

TEST_F(DatastoreTest, DamagedFilesAreRefused) {
  build({{5, 6, 7, 8, 9}, {1, 2, 3}});
  const std::string good = bytes();
  ASSERT_EQ(refusal(good), "accepted");
  const auto with = [&](std::size_t place, std::uint32_t value) {
    std::string changed = good;
    std::memcpy(changed.data() + place, &value, sizeof value);
    return changed;
  };
  EXPECT_THAT(refusal(""), HasSubstr("no datastore"));
  EXPECT_THAT(refusal("AUGRSTO1"), HasSubstr("no datastore"));
  EXPECT_THAT(refusal(with(0, 0)), HasSubstr("no datastore"));
  EXPECT_THAT(refusal(with(8, 511)), HasSubstr("another vocabulary, of 511 tokens; the model has 512"));
  EXPECT_THAT(refusal(with(24, 1)), HasSubstr("another vocabulary"));
  EXPECT_THAT(refusal(with(16, 11)), HasSubstr("11 tokens"));
  EXPECT_THAT(refusal(with(20, 0x20000000)), HasSubstr("tokens, but has"));
  EXPECT_THAT(refusal(with(32, 513)), HasSubstr("token 0 is 513, expected at most 512"));
  EXPECT_THAT(refusal(with(32 + 40, 10)), HasSubstr("suffix 0 is 10, expected less than 10"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(refusal(good.substr(0, size)), "accepted") << size << " bytes";
  }
  EXPECT_THAT(refusal(good + "x"), HasSubstr("bytes"));
}

TEST_F(DatastoreTest, SuffixesInAnyOrderDoNoHarm) {
  std::mt19937 random(2);
  std::vector<TokenId> document(300);
  for (TokenId& token : document) token = static_cast<TokenId>(random() % 3);
  build({document});
  const std::string good = bytes();
  std::int32_t drafted = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bad = good;
    for (std::size_t i = 32 + 301 * 4; i < bad.size(); i += 4) {
      const std::uint32_t place = random() % 301;
      std::memcpy(bad.data() + i, &place, 4);
    }
    ASSERT_EQ(refusal(bad), "accepted");
    const Datastore store(file_, *tokenizer_, 512);
    SuffixDrafter drafter(std::make_shared<SuffixMemory>(32, 1 << 10), &store, {});
    drafter.sync({.tokens = document, .first_position = 0, .next = 1});
    DraftTree tree;
    tree.reset(1, std::ssize(document));
    drafter.expand(tree, std::vector<std::int32_t>{0}, {.top_k = 40, .max_nodes = 40});
    for (const TokenId token : tree.tokens()) EXPECT_LT(token, 512);
    drafted += tree.size() - 1;
  }
  EXPECT_GT(drafted, 200) << "it is asked";
}

TEST_F(DatastoreTest, BuildingRefusesWhatItCannotHold) {
  DatastoreBuilder builder(*tokenizer_);
  EXPECT_THROW(builder.write(file_), Error);
  EXPECT_THROW(builder.add(std::vector<TokenId>{1, 512}), Error);
  EXPECT_THROW(builder.add(std::vector<TokenId>{-1}), Error);
}

}  // namespace
}  // namespace augur
