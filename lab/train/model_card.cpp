#include "lab/train/model_card.h"

#include <fmt/format.h>

#include "base/atomic_file.h"

namespace augur {

void write_card(const std::filesystem::path& folder, const CardFacts& facts, const LearningCurve& curve) {
  std::string text = fmt::format("# {}\n\n", facts.title);
  if (!facts.target.empty()) text += fmt::format("Made for the target `{}`.\n\n", facts.target);
  text += "## Training\n\n";
  text += fmt::format("{} tokens of {} planned, {} optimizer steps; {}.\n\n", facts.tokens,
                      facts.planned_tokens, facts.steps, facts.settings);
  text += fmt::format("```\n{}\n```\n\nData:\n\n", facts.command);
  for (const std::string& file : facts.data) text += fmt::format("* {}\n", file);
  text +=
      "\n## On held-out sequences\n\n"
      "Agreement is how often the part's favourite is the target's, at each draft depth, given the text up "
      "to "
      "there. Chain is the accepted length that a greedy chain would have (the target's own token counted) "
      "if "
      "depths were independent.\n\n"
      "| tokens | loss | chain | agreement by depth |\n|---:|---:|---:|---|\n";
  for (const LearningCurve::Point& point : curve.points()) {
    text += fmt::format("| {} | {:.4f} | {:.3f} |", point.tokens, point.loss, point.chain_length);
    for (const double value : point.agreement) text += fmt::format(" {:.3f}", value);
    text += " |\n";
  }
  AtomicFile file(folder / "README.md");
  file.write(text);
  file.commit();
}

}  // namespace augur
