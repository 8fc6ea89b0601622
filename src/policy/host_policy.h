#pragma once
#include <map>
#include <memory>
#include <string>

#include "augur/custom_policy.h"
#include "policy/registry.h"

namespace augur {

/// The policies of a CustomPolicyType with these settings, as a PolicyModel. Throws Error for bounds that
/// are out of range.
std::unique_ptr<PolicyModel> make_host_policy(const CustomPolicyType& type,
                                              std::map<std::string, std::string> settings);

}  // namespace augur
