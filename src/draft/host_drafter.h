#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "augur/custom_drafter.h"
#include "draft/drafter.h"

namespace augur {

/// What a sequence's CustomDrafter is made from.
struct HostDrafterSpec {
  std::int64_t context = 0;  ///< DrafterSetup's
  std::int32_t vocab = 0;
  std::map<std::string, std::string> settings;
  /// Makes one of the engine's drafters for the same sequence. Throws Error for a name that is none of them.
  std::function<std::unique_ptr<Drafter>(const std::string& name)> built_in;
};

/// A CustomDrafter as a Drafter. It is not to expand together with others of its group(), which is that of
/// its built-in drafter, whose rows it keeps (Speculator::alone). Throws Error for a type that makes none or
/// one with impossible traits, and passes on what the host's code throws.
std::unique_ptr<Drafter> make_host_drafter(const CustomDrafterType& type, const HostDrafterSpec& spec);

}  // namespace augur
