// A block drafter that shares the target's head is one that stores the same rows itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>

#include "files/safetensors_writer.h"
#include "policy/eagle2_policy.h"
#include "support/error_of.h"
#include "support/golden_head.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace testing_support;

constexpr const char* kOutput = "lm_head.weight";
constexpr const char* kMarkov = "markov_head.markov_w1.weight";

/// A head's tensors by name, to be changed and written.
struct Parts {
  struct Part {
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;

    std::size_t row_bytes() const { return bytes.size() / static_cast<std::size_t>(shape[0]); }
    std::span<const std::byte> row(TokenId id) const {
      return std::span(bytes).subspan(static_cast<std::size_t>(id) * row_bytes(), row_bytes());
    }
  };

  explicit Parts(const Checkpoint& head) : config(head.config()) {
    for (const auto& [name, t] : head.weights().tensors())
      parts[name] = {t.dtype, t.shape, {t.bytes.begin(), t.bytes.end()}};
  }
  std::vector<TokenId> ids() const {
    std::vector<TokenId> ids;
    const Part& map = parts.at("d2t");
    for (std::int64_t i = 0; i < map.shape[0]; ++i) {
      std::int64_t offset;
      std::memcpy(&offset, map.bytes.data() + static_cast<std::size_t>(i) * sizeof offset, sizeof offset);
      ids.push_back(static_cast<TokenId>(i + offset));
    }
    return ids;
  }
  Checkpoint write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.json") << config;
    std::vector<SafetensorsWriter::Entry> entries;
    for (const auto& [name, p] : parts) entries.push_back({.name = name, .dtype = p.dtype, .shape = p.shape});
    SafetensorsWriter writer(folder / "model.safetensors", entries);
    for (const auto& [name, p] : parts) writer.write(p.bytes);
    writer.finish();
    return Checkpoint::open(folder);
  }

  nlohmann::json config;
  std::map<std::string, Part> parts;
};

Parts::Part rows_of(const Parts::Part& from, const std::vector<TokenId>& ids) {
  Parts::Part to{from.dtype, {std::ssize(ids), from.shape[1]}, {}};
  for (const TokenId id : ids) {
    const auto row = from.row(id);
    to.bytes.insert(to.bytes.end(), row.begin(), row.end());
  }
  return to;
}

/// The golden DSpark head without what it can share.
Parts sharing() {
  Parts head(Checkpoint::open(golden_head_path("dspark")));
  head.config["shares_target_head"] = true;
  head.parts.erase(kOutput);
  head.parts[kMarkov] = rows_of(head.parts[kMarkov], head.ids());
  return head;
}

/// The same with everything in its own file: the target's rows, and no bias from tokens outside.
Parts owning() {
  Parts head(Checkpoint::open(golden_head_path("dspark")));
  const std::vector<TokenId> ids = head.ids();
  const Parts target(Checkpoint::open(golden_head_path("target")));
  head.parts[kOutput] = rows_of(target.parts.at(kOutput), ids);
  Parts::Part& markov = head.parts[kMarkov];
  for (TokenId id = 0; id < 192; ++id) {
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
    std::memset(markov.bytes.data() + static_cast<std::size_t>(id) * markov.row_bytes(), 0,
                markov.row_bytes());
  }
  return head;
}

DraftTree draft(GoldenTarget& target, const Checkpoint& head, TokenId root) {
  const GoldenHead golden("dspark");
  const auto text = golden.expected["text"].get<std::vector<TokenId>>();
  const std::vector<float> features = golden.values("features");
  const auto model = target.load("dspark", head);
  const auto drafter = model->make({.context = 256});
  drafter->sync({.tokens = std::span(text).first(7), .features = features.data(), .next = root});
  DraftTree tree;
  tree.reset(root, 7);
  Eagle2Policy policy({.top_k = 4, .levels = 6, .size = 60});
  policy.begin({.room = 1000, .max_depth = 100, .drafter = drafter->traits()});
  std::vector<std::int32_t> frontier;
  for (policy.next_frontier(tree, frontier); !frontier.empty(); policy.next_frontier(tree, frontier)) {
    const std::int32_t before = tree.size();
    drafter->expand(tree, frontier, {.top_k = policy.width(), .max_nodes = 1000});
    if (tree.size() == before) break;
  }
  return tree;
}

TEST(SharedHead, DraftsAsOneWithTheSameRows) {
  const TemporaryFolder folder;
  GoldenTarget target(WeightFormat::BF16);
  const Checkpoint shared = sharing().write(folder.path() / "shared");
  const Checkpoint own = owning().write(folder.path() / "own");
  for (const TokenId root : {5, 6, 7, 8}) {  // some in the draft vocabulary, some not
    const DraftTree a = draft(target, shared, root), b = draft(target, own, root);
    EXPECT_GT(a.size(), 20);
    EXPECT_TRUE(std::ranges::equal(a.tokens(), b.tokens())) << root;
    EXPECT_TRUE(std::ranges::equal(a.log_probs(), b.log_probs())) << root;
  }
}

TEST(SharedHead, NeedsItsVocabulary) {
  const TemporaryFolder folder;
  GoldenTarget target(WeightFormat::BF16);
  const auto error = [&](const Parts& head) {
    const Checkpoint written = head.write(folder.path());
    return error_of([&] { target.load("dspark", written); });
  };
  Parts head = sharing();
  head.parts.erase("d2t");
  EXPECT_THAT(error(head), HasSubstr("tensor d2t is missing"));
  head = sharing();
  head.config["draft_vocab_size"] = 64;
  EXPECT_THAT(error(head), AllOf(HasSubstr("draft_vocab_size"), HasSubstr("64"), HasSubstr("d2t has 96")));
  head = sharing();
  head.config["shares_target_head"] = "yes";
  EXPECT_THAT(error(head), HasSubstr("shares_target_head"));
}

}  // namespace
}  // namespace augur
