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

/// The drafter models that an engine has loaded, by the canonical names of their types, and the drafters that
/// plans ask for. One thread at a time.
class Drafters {
 public:
  /// Loads every type that needs no draft model, and `head`, the type that source.head is used as (empty:
  /// there is none). `files`: tells the draft model from others (draft_identity).
  void load(const DrafterSource& source, std::string_view head, const std::string& files);

  /// One more, by a name of its own ("@NAME"): of the type `type`, which source.head is used as.
  void load_named(const std::string& name, std::string_view type, const DrafterSource& source,
                  std::string files);

  /// Of all that are loaded.
  std::vector<std::string> names() const;
  /// Of all that are loaded: DrafterModel::forget_learnt().
  void forget_learnt();
  // The same: what they have learnt and keep in memory that grows (DrafterModel).
  std::int64_t learnt_bytes() const;
  void limit_learnt(std::int64_t bytes);
  bool drop_learnt();

  /// A sequence to be drafted for.
  struct SequenceSpec {
    std::int64_t tokens = 0;  ///< that it may have
    std::string owner;        ///< DrafterSettings::owner
    bool keep_output = true;
  };
  /// `name`: of the plan, which was resolved for this engine.
  std::unique_ptr<Drafter> make(const std::string& name, const SpeculationPlan& plan,
                                const SequenceSpec& sequence) const;
  /// What tells the costs of a drafter of the plan from others': its name, its files, its vocabulary, where
  /// it exits, its own settings.
  std::string cost_key(const std::string& name, const SpeculationPlan& plan) const;

 private:
  struct Loaded {
    std::unique_ptr<DrafterModel> model;
    std::string_view type;
    std::string files;       ///< empty: none
    std::string vocabulary;  ///< VocabularyChoice::name() of what it projects to; empty: all, or nothing
  };
  std::map<std::string, Loaded, std::less<>> models_;
};

/// The names of a resolved plan's drafters; none for plain decoding.
std::span<const std::string> drafters_of(const SpeculationPlan& plan);

/// A request with a grammar brings a drafter of its own: what the grammar forces is drafted beside whatever
/// drafts. Its name; empty where there is none, as for plain decoding, beside itself, and under rejection
/// sampling, which is for the one drafter that is drawn from.
std::string_view drafter_beside(const SpeculationPlan& plan, bool has_grammar);

}  // namespace augur
