#pragma once
#include <map>
#include <memory>
#include <string>

#include "augur/custom_policy.h"
#include "policy/registry.h"

namespace augur {

/// The policies of a CustomPolicyType, whose bounds are at least 1, with these settings, as a PolicyModel.
std::unique_ptr<PolicyModel> make_host_policy(const CustomPolicyType& type,
                                              std::map<std::string, std::string> settings);

}  // namespace augur
