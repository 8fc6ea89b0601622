#include "lab/trace/mixing.h"

#include <algorithm>

#include "base/philox.h"

namespace augur {

namespace {

/// The likeliest child of every node along one path from the root.
std::vector<TokenId> greedy_chain(const TraceRound& round) {
  std::vector<TokenId> chain;
  for (std::int32_t node = 0;;) {
    std::int32_t best = -1;
    for (std::size_t n = 1; n < round.size(); ++n) {
      const bool better = best < 0 || round.log_probs[n] > round.log_probs[static_cast<std::size_t>(best)];
      if (round.parents[n] == node && better) best = static_cast<std::int32_t>(n);
    }
    if (best < 0) return chain;
    chain.push_back(round.tokens[static_cast<std::size_t>(best)]);
    node = best;
  }
}

}  // namespace

std::vector<TokenId> mixed_beginning(const TraceSequence& sequence, double share, std::uint64_t seed) {
  constexpr std::uint32_t kCut = 1, kReplace = 2;
  const auto random = [seed](std::uint32_t purpose, std::size_t place) {
    return uniform_open(philox4x32({static_cast<std::uint32_t>(place), purpose, 0, 0}, seed)[0]);
  };
  const auto prompt = static_cast<std::size_t>(sequence.prompt_size);
  if (sequence.tokens.size() < prompt + 4) return {};
  std::vector<TokenId> drafted(sequence.tokens.size(), -1);
  for (const TraceRound& round : sequence.rounds) {  // a later round knows more of the text
    auto place = static_cast<std::size_t>(round.root) + 1;
    for (const TokenId token : greedy_chain(round)) {
      if (place == drafted.size()) break;
      drafted[place++] = token;
    }
  }
  // From a quarter to three quarters of the answer: something is left to be decoded.
  const auto answer = static_cast<float>(sequence.tokens.size() - prompt);
  const std::size_t kept = prompt + static_cast<std::size_t>(answer * (0.25f + 0.5f * random(kCut, 0)));
  std::vector<TokenId> tokens(sequence.tokens.begin(),
                              sequence.tokens.begin() + static_cast<std::ptrdiff_t>(kept));
  for (std::size_t place = prompt; place < kept; ++place) {
    if (drafted[place] >= 0 && static_cast<double>(random(kReplace, place)) < share)
      tokens[place] = drafted[place];
  }
  return tokens;
}

}  // namespace augur
