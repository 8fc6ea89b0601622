#include "lab/suite/keys.h"

#include <filesystem>

#include "files/part_location.h"
#include "lab/suite/cell.h"
#include "lab/suite/content_hash.h"
#include "vocab/vocabulary_spec.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

/// What a draft vocabulary is made from.
void add_vocabulary(const std::string& vocabulary, const fs::path& parts, std::vector<fs::path>& files) {
  const VocabularySpec spec = VocabularySpec::parse(vocabulary).located(parts);
  if (spec.path.empty()) return;
  if (spec.kind != VocabularySpec::Kind::Auto) {
    files.emplace_back(spec.path);
    return;
  }
  for (const char* kind : {"frspec", "dynaspec"}) files.push_back(find_part(spec.path, kind));
}

/// What the method's drafts come from, as far as files say it; empty paths are none.
std::vector<fs::path> files_of(const Method& method, const std::string& draft_model) {
  if (method.plain()) return {};
  const fs::path parts = parts_folder(draft_model);
  const PolicyChoice& policy = method.speculation.policy;
  std::vector<fs::path> files = {draft_model};
  add_vocabulary(method.speculation.draft_vocabulary, parts, files);
  const auto named = policy.settings.find("model");
  files.push_back(named != policy.settings.end() ? fs::path(named->second) : find_part(parts, policy.name));
  std::vector<std::string> trees = {method.speculation.static_tree};
  if (const auto tree = policy.settings.find("tree"); tree != policy.settings.end())
    trees.push_back(tree->second);
  for (const std::string& tree : trees) {
    if (fs::is_regular_file(tree)) files.emplace_back(tree);  // otherwise a published one's name
  }
  return files;
}

}  // namespace

std::vector<std::string> method_keys(std::span<const Method> methods,
                                     const std::string& default_draft_model) {
  ContentHashes contents;
  std::vector<std::string> keys;
  for (const Method& method : methods) {
    std::uint64_t hash = hash_text(method.text);
    const std::string& model = method.draft_model.empty() ? default_draft_model : method.draft_model;
    for (const fs::path& file : files_of(method, model)) {
      if (file.empty()) continue;
      const std::uint64_t content = contents.of(file);
      hash = hash_bytes(std::as_bytes(std::span(&content, 1)), hash);
    }
    keys.push_back(hex(hash));
  }
  return keys;
}

std::string method_key(const Method& method, const std::string& default_draft_model) {
  return method_keys({&method, 1}, default_draft_model).front();
}

std::string prompt_key(const std::string& suite, const SuitePrompt& prompt) {
  std::uint64_t hash = hash_text(prompt.id, hash_text(suite));
  for (const std::string& turn : prompt.turns) hash = hash_text(turn, hash);
  return hex(hash);
}

}  // namespace augur
