#include "cli/tint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace augur::cli {
namespace {

// Columns of the 256-colour cube, pale to strong.
constexpr std::array<int, 5> kGreens = {157, 120, 84, 46, 34};
constexpr std::array<int, 5> kBlues = {153, 117, 75, 33, 27};
constexpr std::array<int, 5> kOthers = {225, 219, 213, 207, 201};

}  // namespace

std::string tinted(const TokenEvent& event) {
  if (event.text.empty() || event.depth == 0) return std::string(event.text);
  const auto& shades = event.proposer == "ngram" ? kGreens : event.proposer == "draft" ? kBlues : kOthers;
  const int depth = std::min(event.depth, static_cast<int>(shades.size()));
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", shades[static_cast<std::size_t>(depth - 1)], event.text);
}

}  // namespace augur::cli
