#include "text/tokenizer/spm_merges.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"

namespace augur {
namespace {
constexpr std::size_t kLongestPiece = 1024;  // bytes; every way to cut a piece in two is looked up
}

void add_score_merges(const std::vector<ScoredPiece>& pieces, const std::string& where, BpeDefinition& out) {
  std::vector<std::size_t> order;
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    if (!pieces[id].mergeable) continue;
    if (pieces[id].text.size() > kLongestPiece)
      throw Error(ErrorKind::Unsupported, "{}: token {} has {} bytes; at most {} are supported", where, id,
                  pieces[id].text.size(), kLongestPiece);
    if (ids.emplace(pieces[id].text, id).second) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].score > pieces[b].score; });
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && pieces[order[i]].score != pieces[order[i - 1]].score) ++rank;
    const std::string_view text = pieces[order[i]].text;
    if (text.empty()) continue;
    const std::size_t first = decode_utf8(text, 0).length;
    for (std::size_t cut = first; cut < text.size(); cut += decode_utf8(text, cut).length) {
      const bool left_known = cut == first || ids.contains(text.substr(0, cut));
      const bool right_known =
          cut + decode_utf8(text, cut).length == text.size() || ids.contains(text.substr(cut));
      if (left_known && right_known) out.merges.push_back({text.substr(0, cut), text.substr(cut), rank});
    }
  }
}

void set_spm_conventions(bool prefix, bool prefix_everywhere, BpeDefinition& out) {
  out.decodes_bytes = true;
  out.merges_unknown_characters = true;
  out.space_character = kSpmSpace;
  out.strips_leading_space = prefix;
  std::vector<Normalizer::Step> steps;
  if (prefix) steps.emplace_back(Normalizer::Prepend{" ", !prefix_everywhere});
  steps.emplace_back(Normalizer::Replace{std::nullopt, " ", std::string(kSpmSpace)});
  out.normalizer = Normalizer(std::move(steps));
}

}  // namespace augur
