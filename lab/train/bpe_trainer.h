#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/tokenizer/pretokenizer.h"

namespace augur {

/// Learns a byte-level byte-pair encoding (Sennrich et al. 2016, over bytes as GPT-2 has it): words are cut
/// by GPT-2's expression with every digit apart, then the most frequent pair of neighbours becomes a token,
/// again and again. The same texts give the same encoding. Own code: Hugging Face's trainer is Rust.
class BpeTrainer {
 public:
  BpeTrainer();
  void add(std::string_view text);

  struct Result {
    std::vector<std::pair<std::string, std::string>> merges;  ///< bytes, best first
    std::size_t words = 0;                                    ///< different ones that were seen
  };
  /// Merges for so many tokens beside the 256 bytes; fewer when no pair occurs twice.
  Result train(std::size_t tokens) const;

  /// Hugging Face's tokenizer.json: the special tokens, the 256 bytes, then what the merges make.
  static nlohmann::json tokenizer_json(const Result& result, const std::vector<std::string>& special);

 private:
  std::unique_ptr<PreTokenizer> cutter_;
  std::unordered_map<std::string, std::int64_t> words_;
};

}  // namespace augur
