#include "lab/train/bpe_trainer.h"

#include "base/utf8.h"
#include "lab/train/pair_merger.h"
#include "text/tokenizer/bpe_byte_level.h"

namespace augur {

namespace {

nlohmann::json pre_tokenizer() {
  return {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Digits"}, {"individual_digits", true}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}}}};
}

/// Bytes in GPT-2's printable alphabet, as vocabulary files write them.
std::string printable(std::string_view bytes) {
  static const auto alphabet = byte_level_alphabet();
  std::string text;
  for (const char c : bytes) append_utf8(text, alphabet[static_cast<unsigned char>(c)]);
  return text;
}

}  // namespace

BpeTrainer::BpeTrainer() : cutter_(PreTokenizer::from_json(pre_tokenizer(), "byte-pair encoding")) {}

void BpeTrainer::add(std::string_view text) {
  PieceList list;
  list.pieces.push_back(text);
  cutter_->apply(list);
  for (const std::string_view piece : list.pieces) {
    if (!piece.empty()) ++words_[std::string(piece)];
  }
}

BpeTrainer::Result BpeTrainer::train(std::size_t tokens) const {
  Result result{.merges = {}, .words = words_.size()};
  std::vector<PairMerger::Word> words;
  for (const auto& [text, count] : words_) {
    PairMerger::Word& word = words.emplace_back();
    word.count = count;
    for (const char c : text) word.symbols.push_back(static_cast<unsigned char>(c));
  }
  PairMerger merger(std::move(words));
  std::vector<std::string> bytes;  // by symbol
  for (int b = 0; b < 256; ++b) bytes.emplace_back(1, static_cast<char>(b));
  std::unordered_map<std::string, PairMerger::Symbol> symbol_of;
  PairMerger::Pair pair;
  while (bytes.size() < 256 + tokens && merger.best(pair)) {
    const std::string left = bytes[pair.left];
    const std::string right = bytes[pair.right];
    // Another merge may have made the same token: it is one token then.
    const auto [symbol, is_new] =
        symbol_of.emplace(left + right, static_cast<PairMerger::Symbol>(bytes.size()));
    if (is_new) bytes.push_back(left + right);
    merger.merge(pair, symbol->second);
    result.merges.emplace_back(left, right);
  }
  return result;
}

nlohmann::json BpeTrainer::tokenizer_json(const Result& result, const std::vector<std::string>& special) {
  nlohmann::json added = nlohmann::json::array();
  nlohmann::json vocabulary = nlohmann::json::object();
  nlohmann::json merges = nlohmann::json::array();
  const auto take = [&vocabulary](const std::string& token) {
    const std::size_t id = vocabulary.size();
    vocabulary.emplace(token, id);  // where two merges make one token, it keeps its first id
  };
  for (const std::string& token : special) {
    added.push_back({{"id", vocabulary.size()},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    take(token);
  }
  for (int b = 0; b < 256; ++b) take(printable(std::string(1, static_cast<char>(b))));
  for (const auto& [left, right] : result.merges) {
    merges.push_back(printable(left) + " " + printable(right));
    take(printable(left + right));
  }
  const nlohmann::json decoder = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer()},
          {"post_processor", nullptr},
          {"decoder", decoder},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"vocab", vocabulary},
            {"merges", merges}}}};
}

}  // namespace augur
