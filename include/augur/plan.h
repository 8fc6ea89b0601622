#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "augur/enums.h"

namespace augur {

/// What shapes drafts: one of speculation_policies() and its own settings, as docs/policies.md lists them.
struct PolicyChoice {
  std::string name;  ///< empty: what the plan's limits ask for
  std::map<std::string, std::string> settings;

  friend bool operator==(const PolicyChoice&, const PolicyChoice&) = default;
};

/// How much to speculate, and with what. The text that is generated does not depend on it. Everything that is
/// left out has a default, the same in the program, in C++ and in C.
///
/// As text: TYPE[,TYPE...][:KEY=VALUE,...], for instance "ngram", "eagle3,ngram:policy=hetero,topk=8",
/// "draft:policy=c2t:beta=0.4;depth=5,vocab=frspec:4096". Settings of the policy follow its name behind a ':'
/// and are separated by ';'. A backslash takes the character behind it as it is, for paths with a comma. Keys
/// are in brackets below; the program's flags are --spec-type and those that `augur generate --help` lists.
struct SpeculationPlan {
  /// Names of speculation_types(); "auto" is what the draft model's files are made for, "@NAME" a further one
  /// of the engine's draft models (EngineOptions::draft_models). Several draft one tree together: what they
  /// propose is merged, and the likeliest nodes are verified. {"none"}: plain decoding. Empty: "none"
  /// without a draft model or a model's own layers that draft, otherwise "auto", and with the policy "auto"
  /// look-ups ("ngram") beside it.
  std::vector<std::string> drafters;
  /// [policy] Without a name: "static" with a static_tree, "eagle2" where one of the tree's limits is given
  /// (with one candidate per node "chain"), "chain" where one of the chain's is, otherwise "auto", which
  /// decides the shape by measured costs and takes none of these limits.
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
  /// [exit] Type "layerskip": so many of the target's first layers draft. 0: what the draft model's
  /// config.json says (exit_layer), otherwise a quarter of them.
  std::optional<int> exit_layer;

  /// [drafter] Settings that drafters have of their own, by "TYPE.KEY", as their summaries name them; as
  /// text TYPE.KEY=VALUE[;TYPE.KEY=VALUE...]. Those of a type that does not draft are not looked at.
  std::map<std::string, std::string> drafter_settings;

  /// [vocab] What the draft model's or head's last projection computes: "full", "auto" (the most
  /// frequent tokens where that pays), or "frspec", "pafr", "hot" or "dynaspec" with the file or folder, and
  /// its size (docs/vocabulary.md). The target verifies over its whole vocabulary whatever it says. Loaded
  /// with the engine: a request can only name the engine's own. Empty: the engine's; of an engine, "auto".
  std::string draft_vocabulary;
  Verification verification = Verification::Walk;  ///< [verify]
  /// [coupling] Drafters know the noise of the target's draws and propose what it makes likely (coupled
  /// drafting), so that drafts are accepted at high temperatures more often than without. False: they
  /// rank candidates by their own probabilities alone, as in the papers. Matters with Walk at temperature >
  /// 0, or with penalties.
  bool coupling = true;

  /// Reads the text form; what it leaves out is `base`'s. Names become canonical (llama.cpp's "draft-simple"
  /// is "draft"), "" is `base`. Error naming the key and what was expected, for unknown names and values out
  /// of range.
  static SpeculationPlan parse(std::string_view text, const SpeculationPlan& base);
  static SpeculationPlan parse(std::string_view text) { return parse(text, SpeculationPlan()); }

  /// Whether it says to decode plainly.
  bool plain() const { return drafters.size() == 1 && drafters.front() == "none"; }

  friend bool operator==(const SpeculationPlan&, const SpeculationPlan&) = default;
};

/// The text form, with what was given and no more: parse() makes an equal plan of it.
std::string to_string(const SpeculationPlan& plan);

}  // namespace augur
