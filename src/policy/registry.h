#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/arguments.h"
#include "policy/policy.h"
#include "policy/round_controller.h"

namespace augur {

class Model;

/// How much to speculate, as the general flags say it; every policy takes what it understands.
struct PolicyLimits {
  int draft_max = 4;         ///< tokens of a chain
  int draft_min = 0;         ///< shorter chains are not verified
  double draft_p_min = 0.0;  ///< a chain ends before a token less probable than this
  int tree_topk = 4;         ///< candidates per node
  int tree_depth = 4;        ///< levels
  int tree_size = 16;        ///< nodes verified, the root included
  std::string static_tree;   ///< a fixed shape: a published name or a file; empty: none

  friend bool operator==(const PolicyLimits&, const PolicyLimits&) = default;
};

/// What a policy may load itself from. References are valid during the call, `target` as long as the policy.
struct PolicySource {
  PolicyArguments& arguments;
  const PolicyLimits& limits;
  Model* target = nullptr;  ///< null in tests of policies that need none
  std::string target_path;  ///< for messages
};

/// A drafter of a sequence, as a policy is asked to steer it.
struct DrafterSeat {
  std::string name;
  DrafterTraits traits;
};

/// The policies of one sequence.
struct SequencePolicies {
  std::vector<std::unique_ptr<TreePolicy>> by_drafter;
  std::shared_ptr<RoundController> controller;  ///< null: the merged tree keeps its best by score
  std::unique_ptr<ControlledText> text;         ///< what the controller keeps of the sequence
};

/// The shared part of a policy: weights, tables, what it has learned. Outlives the policies made from it. One
/// thread at a time.
class PolicyModel {
 public:
  virtual ~PolicyModel() = default;
  /// The policy of one drafter. Error when the drafter is of a kind that it has no meaning for.
  virtual std::unique_ptr<TreePolicy> make(const DrafterSeat& drafter) = 0;
  /// The policies of a sequence with these drafters, in their order.
  virtual SequencePolicies make_all(std::span<const DrafterSeat> drafters);
  /// Nodes beside the root that a tree of several drafters may have; 0: all they propose.
  virtual int merged_nodes() const { return 0; }
  /// Nodes beside the root that one drafter's tree may have, before it is pruned, at most or nearly.
  virtual std::int64_t most_nodes() const = 0;
  /// What a user should know about how well its parts fit the target; mostly nothing.
  virtual std::string warning() const { return {}; }
  /// Whether the target's and the drafters' costs are to be measured before it starts.
  virtual bool needs_costs() const { return false; }
  /// Whether drafters that cost nothing are to draft before those that do.
  virtual bool lookups_first() const { return false; }
};

struct PolicyType {
  std::string_view name;
  std::string_view summary;  ///< half a line for --help
  std::unique_ptr<PolicyModel> (*load)(const PolicySource& source) = nullptr;
};

/// Every policy there is. A new one is a new file and one line in policy_types.inc.
std::span<const PolicyType> policy_types();

/// Error listing the known names.
const PolicyType& find_policy_type(std::string_view name);

/// Loads the policy that `text` (NAME[:KEY=VALUE,...]) names. Error for what is unknown or out of range.
std::unique_ptr<PolicyModel> load_policy(const std::string& text, const PolicyLimits& limits,
                                         Model* target = nullptr, std::string target_path = "");

}  // namespace augur
