// Datastores of a vocabulary of 16 tokens. Input that begins as one is read as it is; of any other the bytes
// are the tokens and then the suffixes of one whose header fits. Both are searched and drafted from.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "attempt.h"
#include "base/fnv1a.h"
#include "draft/suffix_drafter.h"
#include "part_folder.h"

namespace {

constexpr std::int32_t kTokens = 16;

class Letters final : public augur::Tokenizer {
 public:
  std::vector<augur::TokenId> encode(std::string_view, std::span<const augur::ByteRange>) const override {
    return {};
  }
  std::string token_bytes(augur::TokenId id) const override {
    return std::string(1, static_cast<char>('a' + id));
  }
  bool is_special(augur::TokenId) const override { return false; }
  std::int32_t vocab_size() const override { return kTokens; }
  std::string decode(const std::vector<augur::TokenId>&, bool) const override { return {}; }
};

std::string wrap(std::string_view input) {
  const std::size_t tokens = input.size() / 2;
  augur::Fnv1a fingerprint;
  for (augur::TokenId id = 0; id < kTokens; ++id) {
    fingerprint.add_bytes(Letters().token_bytes(id));
    fingerprint.add_little_endian(1, 4);
  }
  std::string file = "AUGRSTO1";
  augur::fuzz::put(file, std::uint32_t{kTokens});
  augur::fuzz::put(file, std::uint32_t{0});
  augur::fuzz::put(file, std::uint64_t{tokens});
  augur::fuzz::put(file, fingerprint.value());
  for (const char byte : input.substr(0, 2 * tokens))
    augur::fuzz::put(file, std::uint32_t{static_cast<unsigned char>(byte)});
  return file;
}

void draft(const augur::Datastore& store) {
  augur::SuffixDrafter::Options options;
  const auto earlier = std::make_shared<augur::SuffixMemory>(options.depth, 1 << 10);
  augur::SuffixDrafter drafter(earlier, &store, options);
  const std::vector<augur::TokenId> text{1, 2, 3, 1, 2};
  drafter.sync({.tokens = text, .first_position = 0, .features = nullptr, .next = 3});
  augur::DraftTree tree;
  tree.reset(3, std::ssize(text));
  const std::vector<std::int32_t> root{augur::DraftTree::kRoot};
  drafter.expand(tree, root, {.top_k = 16, .max_nodes = 64});
  for (const augur::TokenId token : tree.tokens()) {
    if (token < 0 || token >= kTokens) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::filesystem::path path = augur::fuzz::scratch_folder() / "store";
  augur::fuzz::write_file(path, input.starts_with("AUGRSTO1") ? std::string(input) : wrap(input));
  augur::fuzz::attempt([&] {
    const augur::Datastore store(path, Letters(), kTokens);
    const std::vector<augur::TokenId> sought{1, 2};
    for (std::size_t length = 0; length <= sought.size(); ++length) {
      const auto range = store.find(std::span(sought).first(length));
      std::vector<augur::Datastore::Child> children;
      store.children(range, 0.1, children);
      for (const auto& child : children) {
        if (child.range.begin < range.begin || child.range.end > range.end || child.range.count() < 1)
          std::abort();
      }
    }
    draft(store);
  });
  return 0;
}
