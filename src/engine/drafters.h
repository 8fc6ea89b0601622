#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/custom_drafter.h"
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

  /// Drafters of the host program by "@NAME", for a target of `vocab` tokens. `types` must outlive this.
  void take_custom(const std::map<std::string, CustomDrafterType>& types, std::int32_t vocab);
  /// Whether the name is that of one of these. They are not to draft together with others of their group.
  bool custom(const std::string& name) const { return custom_ != nullptr && custom_->contains(name); }

  /// The names of all loaded models, and of the host program's drafters.
  std::vector<std::string> names() const;
  /// Calls DrafterModel::forget_learnt() for all loaded models, and CustomDrafterType::forget.
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
  std::unique_ptr<Drafter> make_custom(const std::string& name, const SpeculationPlan& plan,
                                       const SequenceSpec& sequence) const;

  std::map<std::string, Loaded, std::less<>> models_;
  const std::map<std::string, CustomDrafterType>* custom_ = nullptr;
  std::int32_t vocab_ = 0;
};

/// The names of a resolved plan's drafters; empty for plain decoding.
std::span<const std::string> drafters_of(const SpeculationPlan& plan);

/// The name of the drafter that a request with a grammar adds to the plan's own: it drafts the tokens that
/// the grammar forces. Empty if the request has no grammar, if the plan decodes plainly or names that drafter
/// already, and under rejection sampling, which supports one drafter only.
std::string_view drafter_beside(const SpeculationPlan& plan, bool has_grammar);

}  // namespace augur
