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
  /// for layerskip: layers that draft; 0: the head's configuration, or a quarter of the layers
  int exit_layer = 0;
  std::int64_t context = 0;  ///< tokens the sequence may hold
  std::string owner;  ///< owner of the text: the drafter uses only what texts of the same owner have left
  bool keep_output = true;  ///< whether later texts may use this text
  /// Settings of this drafter type only. DrafterModel::make() reads them; a setting that it does not read is
  /// refused.
  OwnSettings own = {};

  /// Tokens for which an index over the text reserves memory at the start; it grows for longer texts.
  std::int64_t reserved_tokens() const { return std::min(context, kReservedTokens); }
  static constexpr std::int64_t kReservedTokens = 2048;
};

/// The shared part of a drafter type: weights, if it has any. Outlives the drafters made from it.
class DrafterModel {
 public:
  virtual ~DrafterModel() = default;
  virtual std::unique_ptr<Drafter> make(const DrafterSettings& settings) const = 0;
  /// Forgets what drafters have stored here for later texts (earlier outputs, a list of frequent tokens): a
  /// drafter made after this call drafts like the first one. A type that learns must override it. Existing
  /// drafters continue, and store their data when they end.
  virtual void forget_learnt() {}
  /// For data that grows with the texts: its size in bytes; a limit for it (data learnt later counts at the
  /// next call); and dropping the least recently used part, false if nothing is left.
  virtual std::int64_t learnt_bytes() const { return 0; }
  virtual void limit_learnt(std::int64_t /*bytes*/) {}
  virtual bool drop_learnt() { return false; }
};

/// What a drafter type can be loaded from. The references must outlive the DrafterModel.
struct DrafterSource {
  Backend& backend;
  Model& target;
  const Tokenizer& tokenizer;        ///< the target's
  std::string target_path;           ///< for messages
  const Checkpoint* head = nullptr;  ///< the draft model or head given by the user; null: none
  std::optional<WeightForm> form;    ///< form in which its weights are packed; none: the target's
  std::int64_t context = 0;
  /// Draft vocabulary of the drafter's last projection; null: the whole vocabulary. For types with
  /// DrafterType::projects.
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
  bool in_models = false;         ///< the head may be in the target's own files (own_drafter_type)
  bool projects = false;          ///< ends in a VocabularyHead, which uses DrafterSource::vocabulary
  std::string_view summary = {};  ///< what it proposes, in half a line, for --help and README's table
  /// For a type without files: settings with which the suite compares it by default (default_methods());
  /// empty: it does not. A type with files is compared wherever files for it are found.
  std::string_view suite = {};
  bool quick = false;  ///< also with --quick
};

/// All drafter types. A new one is a new file and one line in drafter_types.inc.
std::span<const DrafterType> drafter_types();

/// By name or alias. Error listing the known names.
const DrafterType& find_drafter_type(std::string_view name);

}  // namespace augur
