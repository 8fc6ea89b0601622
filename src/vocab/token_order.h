#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace augur {

/// Tokens by falling frequency in some corpus, all different.
struct TokenOrder {
  std::string file;             ///< for messages
  std::vector<TokenId> tokens;  ///< a published file lists some of the vocabulary, our own format all of it
  bool complete = false;        ///< all of it
  /// Share of the counted tokens that the first quarter_of() are; 0: unknown.
  double quarter_share = 0;

  /// Every id of `always` among the first `size`: those that are not take the places of the rarest.
  void force_in(std::int64_t size, std::span<const TokenId> always);
};

/// A quarter of a vocabulary, rounded up: the usual length of a shortlist.
constexpr std::int64_t quarter_of(std::int64_t vocab) {
  return (vocab + 3) / 4;
}

/// Reads the order from
///   - a published list, `freq_{V}.pt`: ids by falling frequency (FR-Spec);
///   - a folder: config.json ("augur_part": "frspec") and model.safetensors with `frequencies` I64 [vocab] or
///     `order` I32 [vocab]. Equal frequencies count by ascending id. config.json may have "quarter_share".
/// Error naming the file for an id outside the vocabulary or listed twice, and for a file that was made for
/// another vocabulary size.
TokenOrder read_token_order(const std::filesystem::path& path, std::int32_t vocab);

/// Writes the folder, with `order`. `facts`: further fields of config.json.
void write_token_order(const std::filesystem::path& folder, std::span<const std::int64_t> frequencies,
                       const nlohmann::ordered_json& facts);

/// Ids by falling frequency, equals by ascending id.
std::vector<TokenId> by_frequency(std::span<const std::int64_t> frequencies);

}  // namespace augur
