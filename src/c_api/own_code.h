#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "augur/augur.h"
#include "augur/custom_drafter.h"
#include "augur/custom_policy.h"
#include "base/error.h"
#include "c_api/failure.h"

// Drafters and policies of the caller's, from tables of functions.
namespace augur::c_api {

CustomDrafterType drafter_type_of(const augur_drafter_type* given);
CustomPolicyType policy_type_of(const augur_policy_type* given);

augur_drafter_traits traits_given(const DrafterTraits& from);

/// Error for a function of the caller's that has failed, with the reason if that was a call of ours. `whose`:
/// "drafter @NAME: ".
[[noreturn]] inline void throw_failed(std::string_view whose, std::string_view function) {
  const std::string reason = augur_last_error();
  throw Error(ErrorKind::Internal, "{}{} has failed{}{}", whose, function, reason.empty() ? "" : ": ",
              reason);
}

/// Calls a function of the caller's, which returns 0 if it fails.
template <class Call>
void require_success(std::string_view whose, std::string_view function, Call&& call) {
  forget_failure();
  if (call() == 0) throw_failed(whose, function);
}

/// Lets go of what `make` gave. What a function in C++ throws there, nobody can be told.
template <class Type>
void destroy(const Type& type, void* own) noexcept {
  try {
    if (type.destroy != nullptr) type.destroy(own, type.user);
  } catch (...) {
  }
}

/// Settings as C has them. Points into what it was made of.
struct FlatSettings {
  explicit FlatSettings(const std::map<std::string, std::string>& settings) {
    for (const auto& [key, value] : settings) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
  }
  std::vector<const char*> keys, values;
};

}  // namespace augur::c_api
