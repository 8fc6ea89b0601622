#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "augur/enums.h"

namespace augur {
inline namespace abi1 {

/// What shapes drafts: one of speculation_policies() and its own settings, as docs/policies.md lists them, or
/// "@NAME" of EngineOptions::custom_policies.
struct PolicyChoice {
  std::string name;  ///< empty: the limits of the plan decide, as SpeculationPlan::policy says
  std::map<std::string, std::string> settings;

  friend bool operator==(const PolicyChoice&, const PolicyChoice&) = default;
};

/// Which drafters to use, and how. The generated text does not depend on it. Every field has a default, the
/// same in the program, in C++ and in C.
///
/// As text: TYPE[,TYPE...][:KEY=VALUE,...], for instance "ngram", "eagle3,ngram:policy=hetero,topk=8",
/// "draft:policy=c2t:beta=0.4;depth=5,vocab=frspec:4096". Settings of the policy follow its name after a ':'
/// and are separated by ';'. A backslash escapes the next character, for paths with a comma. Keys are in
/// brackets below; the program's flags are --spec-type and those that `augur generate --help` lists.
struct SpeculationPlan {
  /// Names of speculation_types(); "auto" means the type that the draft model's files are made for, "@NAME"
  /// one of EngineOptions::draft_models or custom_drafters. Several drafters draft one tree together: their
  /// proposals are merged, and the likeliest nodes are verified. {"none"}: plain decoding. Empty: "auto" if
  /// there is a draft model or the model has layers that draft, with the policy "auto" also "ngram";
  /// otherwise "none".
  std::vector<std::string> drafters;
  /// [policy] Without a name: "static" if static_tree is set; "eagle2" if a limit of the tree is set ("chain"
  /// if tree_topk is 1); "chain" if a limit of the chain is set; otherwise "auto", which decides the shape by
  /// measured costs and accepts none of these limits.
  PolicyChoice policy;

  std::optional<int> draft_max;       ///< [n-max] 4: tokens of a drafted chain, at most
  std::optional<int> draft_min;       ///< [n-min] 0: shorter chains are not verified
  std::optional<double> draft_p_min;  ///< [p-min] 0: a chain ends before a token less probable than this
  std::optional<int> tree_topk;       ///< [topk] 4: candidates per node
  std::optional<int> tree_depth;      ///< [depth] 4: levels
  std::optional<int> tree_size;       ///< [size] 16: nodes verified, the newest token included
  /// [tree] A tree of fixed shape, for drafters that rank candidates: a published one by its name
  /// ("mc_sim_7b_63"), or a JSON file with the paths of its nodes, each a list of ranks of candidates.
  std::string static_tree;

  std::optional<int> ngram_min;  ///< [ngram-min] 1: type "ngram": shortest suffix that is looked up
  std::optional<int> ngram_max;  ///< [ngram-max] 4: longest
  /// [exit] Type "layerskip": number of the target's first layers that draft. 0: exit_layer of the draft
  /// model's config.json, otherwise a quarter of the layers.
  std::optional<int> exit_layer;

  /// [drafter] Settings of single drafters, by "TYPE.KEY", as their summaries name them, or "@NAME.KEY"; as
  /// text
  /// TYPE.KEY=VALUE[;TYPE.KEY=VALUE...]. Settings of types that do not draft are ignored.
  std::map<std::string, std::string> drafter_settings;

  /// [vocab] The draft vocabulary, for which the last projection of the draft model or head is computed:
  /// "full", "auto" (a smaller one where that pays), or "frspec", "pafr", "hot" or "dynaspec" with the file
  /// or folder, and its size (docs/vocabulary.md). The target always verifies over its whole vocabulary. It
  /// is loaded with the engine: a request can only name the engine's. Empty: the engine's; for an engine,
  /// "auto".
  std::string draft_vocabulary;
  Verification verification = Verification::Walk;  ///< [verify]
  /// [coupling] Drafters know the noise of the target's draws and propose the tokens that it makes likely
  /// (coupled drafting), so more drafts are accepted at high temperatures. False: they rank candidates only
  /// by their own probabilities, as in the papers. Has an effect with Walk at temperature > 0, or with
  /// penalties.
  bool coupling = true;

  /// Reads the text form; fields that it leaves out are those of `base`, so "" gives `base`. Names become
  /// canonical (llama.cpp's "draft-simple" becomes "draft"). Unknown names and values out of range are an
  /// Error with the key and what was expected.
  static SpeculationPlan parse(std::string_view text, const SpeculationPlan& base);
  static SpeculationPlan parse(std::string_view text) { return parse(text, SpeculationPlan()); }

  /// Whether the plan is plain decoding.
  bool plain() const { return drafters.size() == 1 && drafters.front() == "none"; }

  friend bool operator==(const SpeculationPlan&, const SpeculationPlan&) = default;
};

/// The text form, only of fields that are set: parse() makes an equal plan of it.
std::string to_string(const SpeculationPlan& plan);

}  // namespace abi1
}  // namespace augur
