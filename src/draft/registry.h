#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "draft/drafter.h"
#include "model/model.h"
#include "plan/own_settings.h"
#include "vocab/vocabulary_choice.h"

namespace augur {

/// Settings of one sequence's drafter.
struct DrafterSettings {
  int ngram_min = 1;
  int ngram_max = 4;
  int exit_layer = 0;        ///< of layerskip; 0: what the head's configuration says, or a quarter of them
  std::int64_t context = 0;  ///< tokens the sequence may hold
  std::string owner;         ///< whose text it is: it sees what texts of the same owner have left, no other
  bool keep_output = true;   ///< it leaves something itself
  /// What is set of it alone: a drafter names such settings by reading them, in DrafterModel::make(), and
  /// what it has not read then is refused.
  OwnSettings own = {};

  /// Tokens for which an index over the text takes its memory at once; it grows for longer texts.
  std::int64_t reserved_tokens() const { return std::min(context, kReservedTokens); }
  static constexpr std::int64_t kReservedTokens = 2048;
};

/// The shared part of a drafter type: weights, if it has any. Outlives the drafters made from it.
class DrafterModel {
 public:
  virtual ~DrafterModel() = default;
  virtual std::unique_ptr<Drafter> make(const DrafterSettings& settings) const = 0;
  /// Forgets what drafters have left here for later ones (earlier outputs, a list that follows the texts):
  /// who begins from here on drafts as the first one did. A type that learns must override it. Drafters that
  /// are at work go on, and leave what they have when they end.
  virtual void forget_learnt() {}
  /// What is there of that, in bytes, where it grows with the texts; no more than so many from here on (what
  /// is learnt later counts at the next call); and forgetting what was used least recently, false where
  /// nothing is left.
  virtual std::int64_t learnt_bytes() const { return 0; }
  virtual void limit_learnt(std::int64_t /*bytes*/) {}
  virtual bool drop_learnt() { return false; }
};

/// What a drafter type may load itself from. References outlive the DrafterModel.
struct DrafterSource {
  Backend& backend;
  Model& target;
  const Tokenizer& tokenizer;        ///< the target's
  std::string target_path;           ///< for messages
  const Checkpoint* head = nullptr;  ///< the draft model or head given by the user; null: none
  std::optional<WeightForm> form;    ///< what its weights are packed to; none: what the target's are
  std::int64_t context = 0;
  /// What the drafter's last projection computes; null: all of it. For types that DrafterType::projects.
  const VocabularyChoice* vocabulary = nullptr;
  std::string datastore;  ///< file that the suffix drafter retrieves from; empty: none
  std::function<void(double)> progress;

  WeightForm weights() const { return form.value_or(target.weight_form()); }
};

struct DrafterType {
  std::unique_ptr<DrafterModel> (*load)(const DrafterSource& source) = nullptr;
  std::string_view name;
  std::string_view alias = {};    ///< llama.cpp's name for it; empty: it has none
  bool needs_head = false;        ///< DrafterSource::head: a draft model or head
  bool in_models = false;         ///< which the target's own files may be (own_drafter_type)
  bool projects = false;          ///< ends in a VocabularyHead: DrafterSource::vocabulary has a meaning
  std::string_view summary = {};  ///< what it proposes, in half a line, for --help and README's table
  /// Its settings as a method that the suite compares by itself (default_methods()), where it needs no files;
  /// empty: it is none. A method of a type with files comes with the files.
  std::string_view suite = {};
  bool quick = false;  ///< also with --quick
};

/// Every drafter type there is. A new one is a new file and one line in drafter_types.inc.
std::span<const DrafterType> drafter_types();

/// By name or alias. Error listing the known names.
const DrafterType& find_drafter_type(std::string_view name);

}  // namespace augur
