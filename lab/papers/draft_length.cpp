#include "lab/papers/draft_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

void require_chance(double alpha) {
  if (!(alpha > 0 && alpha < 1))
    throw Error("a chance of acceptance of {}: expected one between 0 and 1", alpha);
}

}  // namespace

double overview_draft_length(double alpha, double c) {
  require_chance(alpha);
  if (!(c > 1)) throw Error("a target that costs {} drafts: expected more than 1", c);
  return -std::log(c - 1) / std::log(alpha);
}

double overview_tokens(double alpha, double gamma) {
  require_chance(alpha);
  const double all = std::pow(alpha, gamma);
  return (1 - all) / (1 - alpha) + all * gamma;
}

double overview_speedup(double alpha, double gamma, double c) {
  return overview_tokens(alpha, gamma) / (1 + 1 / c);
}

double expected_tokens(double alpha, int gamma) {
  require_chance(alpha);
  return (1 - std::pow(alpha, gamma + 1)) / (1 - alpha);
}

double expected_speedup(double alpha, int gamma, double c) {
  return expected_tokens(alpha, gamma) / (1 + gamma / c);
}

int best_draft_length(double alpha, double c, int most) {
  int best = 0;
  for (int gamma = 1; gamma <= most; ++gamma) {
    if (expected_speedup(alpha, gamma, c) > expected_speedup(alpha, best, c)) best = gamma;
  }
  return best;
}

ChainFigures chain_figures(const ordered_json& plain, const ordered_json& chain) {
  const auto number = [](const ordered_json& row, const char* key) { return row.at(key).get<double>(); };
  const auto accepted = chain.at("accepted_per_position").get<std::vector<double>>();
  double sum = 0;
  double reached = number(chain, "calls");
  for (std::size_t depth = 0; depth < accepted.size(); ++depth) {
    sum += accepted[depth];
    if (depth + 1 < accepted.size()) reached += accepted[depth];
  }
  const double step =
      (number(plain, "verify_ms") + number(plain, "other_ms")) / std::max(number(plain, "calls"), 1.0);
  const double draft = number(chain, "draft_ms") / std::max(number(chain, "drafted_tokens"), 1.0);
  return {.alpha = reached > 0 ? sum / reached : 0, .c = draft > 0 ? step / draft : 0};
}

std::string draft_lengths(const ChainFigures& figures) {
  const auto [alpha, c] = figures;
  std::string text = fmt::format("of the longest chain: alpha {:.3f}, c {:.2f}\n", alpha, c);
  if (!(alpha > 0 && alpha < 1 && c > 0)) return text + "the formulas have nothing to say of them\n";
  if (c > 1) {
    const double gamma = overview_draft_length(alpha, c);
    text += fmt::format("the overview's length: {:.2f}{}\n", gamma, gamma <= 0 ? " (none)" : "");
    if (gamma > 0)
      text += fmt::format("the overview's speedup there: {:.2f}x\n", overview_speedup(alpha, gamma, c));
  } else {
    text += "the overview's length: none, drafting costs as much as the target\n";
  }
  const int best = best_draft_length(alpha, c);
  return text + fmt::format("by Leviathan's: {} tokens, {:.2f}x\n", best, expected_speedup(alpha, best, c));
}

}  // namespace augur
