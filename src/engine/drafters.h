#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/plan.h"
#include "draft/registry.h"

namespace augur {

/// The drafter models that an engine has loaded, each under the canonical name of its type, and a factory of
/// the drafters that plans name. For one thread at a time.
class Drafters {
 public:
  /// Loads every type that needs no draft model, and the type `head`, for which source.head is used (empty:
  /// there is no draft model). `files` identifies the draft model's files (draft_identity).
  void load(const DrafterSource& source, std::string_view head, const std::string& files);

  /// Loads one more model under the name `name` ("@NAME"); source.head is used for the type `type`.
  void load_named(const std::string& name, std::string_view type, const DrafterSource& source,
                  std::string files);

  /// The names of all loaded models.
  std::vector<std::string> names() const;
  /// Calls DrafterModel::forget_learnt() for all loaded models.
  void forget_learnt();
  // DrafterModel's functions of the same names, over all loaded models: what they have learnt and keep in
  // memory that grows. Sizes are in bytes.
  std::int64_t learnt_bytes() const;
  void limit_learnt(std::int64_t bytes);
  bool drop_learnt();

  /// The sequence to draft for.
  struct SequenceSpec {
    std::int64_t tokens = 0;  ///< most tokens that it may have
    std::string owner;        ///< DrafterSettings::owner
    bool keep_output = true;
  };
  /// `name` is one of the plan's drafters; the plan has been resolved for this engine.
  std::unique_ptr<Drafter> make(const std::string& name, const SpeculationPlan& plan,
                                const SequenceSpec& sequence) const;
  /// Distinguishes the drafter's costs from those of others: its name, files, vocabulary, exit layer and own
  /// settings.
  std::string cost_key(const std::string& name, const SpeculationPlan& plan) const;

 private:
  struct Loaded {
    std::unique_ptr<DrafterModel> model;
    std::string_view type;
    std::string files;       ///< identity of its files; empty: it has none
    std::string vocabulary;  ///< VocabularyChoice::name() of its draft vocabulary; empty: the whole
                             ///< vocabulary, or it projects nothing
  };
  std::map<std::string, Loaded, std::less<>> models_;
};

/// The names of a resolved plan's drafters; empty for plain decoding.
std::span<const std::string> drafters_of(const SpeculationPlan& plan);

/// The name of the drafter that a request with a grammar adds to the plan's own: it drafts the tokens that
/// the grammar forces. Empty if the request has no grammar, if the plan decodes plainly or names that drafter
/// already, and under rejection sampling, which supports one drafter only.
std::string_view drafter_beside(const SpeculationPlan& plan, bool has_grammar);

}  // namespace augur
