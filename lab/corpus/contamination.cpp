#include "lab/corpus/contamination.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/fnv1a.h"
#include "lab/corpus/prompt_source.h"

namespace augur {

namespace {

constexpr std::size_t kRun = 6;
constexpr std::int64_t kMany = 24;

/// Hashes of the words of a text.
std::vector<std::uint64_t> words_of(std::string_view text) {
  std::vector<std::uint64_t> words;
  Fnv1a hash;
  bool inside = false;
  const auto end_word = [&] {
    if (inside) words.push_back(hash.value());
    hash = Fnv1a();
    inside = false;
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool upper = byte >= 'A' && byte <= 'Z';
    const bool part = upper || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte >= 0x80;
    if (!part) {
      end_word();
      continue;
    }
    hash.add(static_cast<std::uint64_t>(upper ? byte + ('a' - 'A') : byte));
    inside = true;
  }
  end_word();
  return words;
}

/// Hashes of all different runs of so many words.
std::set<std::uint64_t> runs_of(const std::vector<std::uint64_t>& words, std::size_t length) {
  std::set<std::uint64_t> runs;
  for (std::size_t i = 0; i + length <= words.size(); ++i) {
    Fnv1a hash;
    hash.add(length);
    for (std::size_t j = 0; j < length; ++j) hash.add(words[i + j]);
    runs.insert(hash.value());
  }
  return runs;
}

}  // namespace

void Contamination::add_file(const std::filesystem::path& file) {
  read_training_prompts(file, std::numeric_limits<std::int64_t>::max(), [&](const TrainingPrompt& prompt) {
    std::string text = prompt.text;
    for (const Message& message : prompt.messages) text += message.content + "\n";
    const std::vector<std::uint64_t> words = words_of(text);
    if (words.empty()) return true;
    const std::size_t length = std::min(kRun, words.size());
    if (std::find(lengths_.begin(), lengths_.end(), length) == lengths_.end()) lengths_.push_back(length);
    const std::set<std::uint64_t> runs = runs_of(words, length);
    for (const std::uint64_t run : runs) having_[run].push_back(static_cast<std::uint32_t>(prompts_.size()));
    prompts_.push_back({prompt.source, std::ssize(runs)});
    return true;
  });
}

std::optional<Contamination::Match> Contamination::find(std::string_view text) const {
  const std::vector<std::uint64_t> words = words_of(text);
  std::map<std::uint32_t, std::int64_t> shared;
  for (const std::size_t length : lengths_) {
    for (const std::uint64_t run : runs_of(words, length)) {
      const auto found = having_.find(run);
      if (found == having_.end()) continue;
      for (const std::uint32_t prompt : found->second) ++shared[prompt];
    }
  }
  std::optional<Match> most;
  for (const auto& [index, count] : shared) {
    const Prompt& prompt = prompts_[index];
    if (2 * count < prompt.runs && count < kMany) continue;
    if (!most || count > most->shared) most = {prompt.source, count, prompt.runs};
  }
  return most;
}

}  // namespace augur
