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

/// What a policy may load itself from. References are valid during the call, `target` as long as the policy
/// model.
struct PolicySource {
  PolicyArguments& arguments;
  Model* target = nullptr;  ///< null in tests of policies that need none
  /// Folder of the drafter's learned parts (files/part_location.h); empty: none.
  std::filesystem::path parts;

  /// Identity of the target that a part must have been made for; null: not compared.
  const Fingerprint* fingerprint() const;
  /// Folder of the policy's trained part: the one that its setting `model` names, otherwise the part with its
  /// name in `parts`. Throws Error that says where it was looked for.
  std::filesystem::path part() const;
};

/// The policies of one sequence.
struct SequencePolicies {
  std::vector<std::unique_ptr<TreePolicy>> by_drafter;  ///< null: the controller steers the drafter itself
  Steering steering;
};

/// The shared part of a policy: weights, tables, what it has learned. Must outlive the policies made from it.
/// For one thread at a time.
class PolicyModel {
 public:
  virtual ~PolicyModel() = default;
  /// The policy of one drafter. Throws Error for a kind of drafter that the policy does not support.
  virtual std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) = 0;
  /// The policies of a sequence with these drafters, in the same order, and what steers them together.
  virtual SequencePolicies make_all(std::span<const DrafterIdentity> drafters);
  /// Most nodes besides the root in the merged tree of several drafters; 0: all that they propose (not
  /// allowed for a policy that reads the plan's size).
  virtual int merged_nodes() const { return 0; }
  /// Bounds of every tree that the policy makes with its settings.
  virtual TreeBounds bounds() const = 0;
  /// A warning for the user about how well its parts fit the target; usually empty.
  virtual std::string warning() const { return {}; }
  /// Whether the costs of the target and the drafters must be measured before it starts.
  virtual bool needs_costs() const { return false; }
  /// Whether drafters that cost nothing draft before the others.
  virtual bool lookups_first() const { return false; }
  /// Forgets what was learnt from texts so far; policies that have been made keep their state. A policy that
  /// learns from text to text must override it. It may learn figures from the texts of all owners, such as
  /// how often drafts are accepted, but no tokens.
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
  /// It may decide not to draft at all for a text.
  bool may_decode_plainly = false;
  /// Its drafts depend on measured times, so two runs of one request may draft differently.
  bool goes_by_times = false;
};

/// Every policy there is. A new one is a new file and one line in policy_types.inc.
std::span<const PolicyType> policy_types();

/// Error listing the known names.
const PolicyType& find_policy_type(std::string_view name);

/// Whether the policy, with its settings, reads the limit. Throws Error for an unknown policy.
bool reads(const PolicyChoice& policy, const PlanKey& limit);

/// Throws Error for a limit that the plan sets and its policy would ignore; the message names the policies
/// that read it. `name`: which name of the limit the message uses, as in check_plan().
void check_limits(const SpeculationPlan& plan, std::string_view PlanKey::*name = &PlanKey::key);

/// Loads the policy that the plan names; `parts` as in PolicySource. Throws Error for settings that are
/// unknown or out of range, and for limits that the policy has not read.
std::unique_ptr<PolicyModel> load_policy(const SpeculationPlan& plan, Model* target = nullptr,
                                         std::filesystem::path parts = {});

}  // namespace augur
