#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "draft/detect.h"
#include "draft/registry.h"
#include "support/golden_head.h"
#include "support/mtp_models.h"
#include "support/stories.h"
#include "support/stories_source.h"

namespace augur::testing_support {

/// A registered drafter type, and what it is loaded from.
struct DrafterCase {
  std::string name;  ///< of the case: its folder's, otherwise its type's
  std::string type;
  std::filesystem::path folder;  ///< of a draft model or head; empty: it needs none

  /// It proposes what a constraint leaves no choice about, and nothing without one.
  bool needs_constraint() const { return type == "grammar"; }

  friend void PrintTo(const DrafterCase& c, std::ostream* out) { *out << c.name; }
};

/// The folders below `root`, by name, that hold a model or a head.
inline std::vector<std::filesystem::path> model_folders(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (std::filesystem::exists(entry.path() / "config.json")) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Every registered type with each of the folders that its files say are for it; one that needs none without
/// it, too, if there is none or with `bare`.
inline std::vector<DrafterCase> drafter_cases(const std::vector<std::filesystem::path>& folders, bool bare) {
  std::vector<std::string_view> type_of;
  for (const auto& folder : folders) type_of.push_back(detect_drafter_type(Checkpoint::open(folder), folder));
  std::vector<DrafterCase> out;
  for (const DrafterType& type : drafter_types()) {
    const std::string name(type.name);
    bool found = false;
    for (std::size_t i = 0; i < folders.size(); ++i) {
      if (type_of[i] != type.name) continue;
      out.push_back({folders[i].filename().string(), name, folders[i]});
      found = true;
    }
    if (!type.needs_head && (bare || !found))
      out.push_back({found ? name + "_without_files" : name, name, {}});
  }
  return out;
}

/// The tiny models: every golden head, a model with layers that draft, stories260k as its own draft model,
/// and what needs no files.
inline std::vector<DrafterCase> tiny_drafter_cases() {
  std::vector<std::filesystem::path> folders = model_folders(golden_head_path(""));
  std::erase(folders, golden_head_path("target"));
  folders.push_back(mtp_model_path("qwen3_5_mtp"));
  folders.push_back(stories_path());
  return drafter_cases(folders, true);
}

/// What is shipped for SmolLM2-135M-Instruct, trained, and what needs no files.
inline std::vector<DrafterCase> shipped_drafter_cases() {
  std::vector<std::filesystem::path> folders =
      model_folders(std::filesystem::path(AUGUR_SOURCE_DIR) / "models");
  std::erase_if(folders,
                [](const auto& folder) { return !folder.filename().string().starts_with("smollm2-"); });
  return drafter_cases(folders, false);
}

/// The first case of every type.
inline std::vector<DrafterCase> one_of_each_type(std::vector<DrafterCase> cases) {
  const auto same = [](const DrafterCase& a, const DrafterCase& b) { return a.type == b.type; };
  cases.erase(std::unique(cases.begin(), cases.end(), same), cases.end());
  return cases;
}

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string case_name(const testing::TestParamInfo<DrafterCase>& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// A tiny target with prompts for it, and the drafter of a case: golden heads draft for the target that they
/// were made for, layers of a model for that, everything else for stories260k.
class TinyTarget {
 public:
  explicit TinyTarget(const DrafterCase& c) : type_(c.type) {
    if (!c.folder.empty()) head_ = std::make_unique<Checkpoint>(Checkpoint::open(c.folder));
    if (!c.folder.empty() && c.folder != stories_path()) {
      const bool own = !own_drafter_type(*head_).empty();
      golden_ = std::make_unique<GoldenTarget>(WeightFormat::BF16, select_isa(),
                                               own ? c.folder : golden_head_path("target"));
      std::mt19937 random(1);
      // A few tokens, a single one, more than a drafter holds back.
      for (const int length : {1, 2, 9, 30, 300}) {
        prompts_.emplace_back();
        for (int i = 0; i < length; ++i) prompts_.back().push_back(static_cast<TokenId>(random() % 192));
      }
      load();
      return;
    }
    stories_ = std::make_unique<Stories>();
    load();
    prompts_ = {{*stories_->tokenizer->bos},
                stories_->prompt("Once upon a time"),
                stories_->prompt("Lily and Tom went to the park. Tom saw a big"),
                stories_->prompt("\"I am a dog\", said the cat. \"I am a cat\", said the"),
                stories_->prompt("The end. The end. The end.")};
  }

  /// Loads the drafter again, with a draft vocabulary.
  void load(const VocabularyChoice* vocabulary = nullptr) {
    if (golden_) {
      drafters_ = golden_->load(type_, *head_, vocabulary);
      return;
    }
    drafters_ = find_drafter_type(type_).load(stories_source(*stories_, head_.get(), vocabulary));
  }

  Model& model() { return golden_ ? *golden_->model : *stories_->model; }
  /// Null: the target has no text.
  const Tokenizer* tokenizer() const { return stories_ ? stories_->tokenizer.get() : nullptr; }
  const std::vector<std::vector<TokenId>>& prompts() const { return prompts_; }
  std::unique_ptr<Drafter> make(const std::string& owner = {}, bool keep_output = true) {
    return drafters_->make({.context = model().context(), .owner = owner, .keep_output = keep_output});
  }
  void forget() { drafters_->forget_learnt(); }

 private:
  std::string type_;
  std::unique_ptr<Checkpoint> head_;
  std::unique_ptr<GoldenTarget> golden_;
  std::unique_ptr<Stories> stories_;
  std::unique_ptr<DrafterModel> drafters_;
  std::vector<std::vector<TokenId>> prompts_;
};

}  // namespace augur::testing_support
