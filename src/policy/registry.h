#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/keys.h"
#include "policy/arguments.h"
#include "policy/policy.h"
#include "policy/steering.h"
#include "policy/tree_bounds.h"

namespace augur {

class Model;
struct Fingerprint;

/// What a policy may load itself from. References are valid during the call, `target` as long as the policy.
struct PolicySource {
  PolicyArguments& arguments;
  Model* target = nullptr;  ///< null in tests of policies that need none
  /// Folder of the drafter's learned parts (files/part_location.h); empty: none.
  std::filesystem::path parts;

  /// What the target of a part is compared with; null: with nothing.
  const Fingerprint* fingerprint() const;
  /// The policy's own part: what its setting `model` names, otherwise the part of its name among `parts`.
  /// Error that says where it was looked for.
  std::filesystem::path part() const;
};

/// The policies of one sequence.
struct SequencePolicies {
  std::vector<std::unique_ptr<TreePolicy>> by_drafter;  ///< null: the controller steers the drafter itself
  Steering steering;
};

/// The shared part of a policy: weights, tables, what it has learned. Outlives the policies made from it. One
/// thread at a time.
class PolicyModel {
 public:
  virtual ~PolicyModel() = default;
  /// The policy of one drafter. Error when the drafter is of a kind that it has no meaning for.
  virtual std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) = 0;
  /// The policies of a sequence with these drafters, in their order, and what steers these together.
  virtual SequencePolicies make_all(std::span<const DrafterIdentity> drafters);
  /// Nodes beside the root that a tree of several drafters may have; 0: all they propose, which a policy that
  /// reads the plan's size must not say.
  virtual int merged_nodes() const { return 0; }
  /// Of every tree that it makes with its settings.
  virtual TreeBounds bounds() const = 0;
  /// What a user should know about how well its parts fit the target; mostly nothing.
  virtual std::string warning() const { return {}; }
  /// Whether the target's and the drafters' costs are to be measured before it starts.
  virtual bool needs_costs() const { return false; }
  /// Whether drafters that cost nothing are to draft before those that do.
  virtual bool lookups_first() const { return false; }
  /// Forgets what was learnt from the texts so far; policies that have been made keep theirs. A policy that
  /// learns from text to text must override it. It may learn from the texts of all owners: figures, such as
  /// how often drafts are accepted, no tokens.
  virtual void forget_learnt() {}
};

struct PolicyType {
  /// Whether the suite compares it by itself (default_methods()), with every drafter that has files and
  /// settings as they are. One that has a part is compared wherever its part is found.
  enum class Suite { No, Yes, Quick };  ///< Quick: also with --quick

  std::unique_ptr<PolicyModel> (*load)(const PolicySource& source) = nullptr;
  std::string_view name;
  /// Keys of the plan's limits that it reads; KEY?FLAG: with that setting of its own only, KEY!FLAG: without
  /// it.
  std::string_view limits = {};
  std::string_view summary = {};  ///< half a line, for --help and README's table
  Suite suite = Suite::No;
  /// It may find a whole text not worth drafting for.
  bool may_decode_plainly = false;
  /// What it drafts depends on measured times, so that two runs of one request may draft differently.
  bool goes_by_times = false;
};

/// Every policy there is. A new one is a new file and one line in policy_types.inc.
std::span<const PolicyType> policy_types();

/// Error listing the known names.
const PolicyType& find_policy_type(std::string_view name);

/// Whether the policy, with its settings, reads the limit. Error for a name that is unknown.
bool reads(const PolicyChoice& policy, const PlanKey& limit);

/// Error for a limit that is given and that the policy asked for would ignore, naming the policies that read
/// it. `name`: what the Error calls the limit, as in check_plan().
void check_limits(const SpeculationPlan& plan, std::string_view PlanKey::*name = &PlanKey::key);

/// Loads the policy that the plan names; `parts` as in PolicySource. Error for what is unknown or out of
/// range, and for limits that it has not read.
std::unique_ptr<PolicyModel> load_policy(const SpeculationPlan& plan, Model* target = nullptr,
                                         std::filesystem::path parts = {});

}  // namespace augur
