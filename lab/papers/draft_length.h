#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

// How long a chain should be where every token is accepted with the chance alpha and a forward of the target
// takes as long as c of the drafter's. What the overview prints (its formulas), and what follows from the
// same assumptions (Leviathan, Kalman, Matias, 2023).

/// The overview's gamma* = -ln(c - 1) / ln(alpha). Error unless 0 < alpha < 1 and c > 1.
double overview_draft_length(double alpha, double c);
/// The overview's tokens of a round, (1 - alpha^gamma) / (1 - alpha) + alpha^gamma gamma: with alpha near 1
/// about 2 gamma, more than were drafted.
double overview_tokens(double alpha, double gamma);
/// The overview's speedup, its tokens over 1 + 1 / c: drafting is charged once, however long the draft is.
double overview_speedup(double alpha, double gamma, double c);

/// (1 - alpha^(gamma + 1)) / (1 - alpha), the target's own token included.
double expected_tokens(double alpha, int gamma);
/// Those over 1 + gamma / c.
double expected_speedup(double alpha, int gamma, double c);
/// The gamma from 0 to `most` with the largest; 0: drafting does not pay.
int best_draft_length(double alpha, double c, int most = 64);

/// alpha and c as one method's figures of a suite's document have them: accepted of all tokens that were
/// reached, and the time of plain's step over that of a drafted token. `plain` and `chain` are rows of the
/// document.
struct ChainFigures {
  double alpha = 0;
  double c = 0;
};
ChainFigures chain_figures(const nlohmann::ordered_json& plain, const nlohmann::ordered_json& chain);

/// What the formulas say of them, as lines of text.
std::string draft_lengths(const ChainFigures& figures);

}  // namespace augur
