#include "plan/text.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "base/error.h"
#include "plan/keys.h"

namespace augur {
namespace {

/// Cuts off what stands before the first of `separators` that has no backslash before it.
std::string_view cut(std::string_view& rest, std::string_view separators) {
  std::size_t end = 0;
  while (end < rest.size() && separators.find(rest[end]) == std::string_view::npos) {
    end += rest[end] == '\\' ? 2 : 1;
  }
  end = std::min(end, rest.size());
  const std::string_view head = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return head;
}

/// A name of a drafter, a policy or a setting. Error for what is none: characters that have a meaning here.
/// `more`: one character beside the usual ones.
std::string read_name(std::string_view what, std::string_view name, char more = '-') {
  const bool sound = std::all_of(name.begin(), name.end(), [more](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == more;
  });
  if (name.empty() || !sound)
    throw Error(refused("speculative"), "{}: expected a name, found '{}'", what, name);
  return std::string(name);
}

/// Names that begin with '@' were given by the user, and may have dots.
std::string read_any_name(std::string_view what, std::string_view name, char more = '-') {
  return name.starts_with('@') ? "@" + read_name(what, name.substr(1), '.') : read_name(what, name, more);
}

/// `more`: as for read_name().
std::pair<std::string, std::string> read_setting(std::string_view setting, char more = '-') {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw Error(refused("speculative"), "'{}' is not KEY=VALUE", setting);
  const std::string_view key = setting.substr(0, equals);
  return {more == '.' ? read_any_name("settings", key, more) : read_name("settings", key, more),
          std::string(setting.substr(equals + 1))};
}

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == ',' || c == ';' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string to_text(const std::map<std::string, std::string>& settings) {
  std::string out;
  for (const auto& [key, value] : settings) out += (out.empty() ? "" : ";") + key + "=" + escaped(value);
  return out;
}

std::string to_text(const PolicyChoice& policy) {
  return policy.name + (policy.settings.empty() ? "" : ":") + to_text(policy.settings);
}

/// Whether the value has settings inside, whose backslashes are their own.
bool has_settings(const PlanKey& key) {
  return std::visit(
      []<class T>(T SpeculationPlan::*) {
        return std::is_same_v<T, PolicyChoice> || std::is_same_v<T, std::map<std::string, std::string>>;
      },
      key.member);
}

/// Adds the settings that `text` has. `more`: as for read_name().
void read_settings(std::string_view text, std::string_view name, char more,
                   std::map<std::string, std::string>& to) {
  while (!text.empty()) {
    auto [key, value] = read_setting(cut(text, ",;"), more);
    if (!to.emplace(key, unescaped(value)).second)
      throw Error(refused("speculative"), "{}: {} is given twice", name, key);
  }
}

std::string to_text(const SpeculationPlan& plan, const PlanKey& key) {
  return std::visit(
      [&]<class T>(T SpeculationPlan::*member) -> std::string {
        const T& value = plan.*member;
        if constexpr (std::is_same_v<T, PolicyChoice> ||
                      std::is_same_v<T, std::map<std::string, std::string>>) {
          return to_text(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return escaped(value);
        } else if constexpr (std::is_same_v<T, bool>) {
          return value ? "1" : "0";
        } else if constexpr (std::is_same_v<T, Verification>) {
          return std::string(to_string(value));
        } else {
          return fmt::format("{}", *value);
        }
      },
      key.member);
}

}  // namespace

PlanText split_plan(std::string_view text) {
  PlanText out;
  std::string_view rest = text;
  std::string_view drafters = cut(rest, ":");
  bool more = !drafters.empty();
  while (more) {
    const std::size_t before = drafters.size();
    const std::string_view name = cut(drafters, ",");
    out.drafters.push_back(read_any_name("speculation types", name));
    more = name.size() < before;  // a comma was cut off
  }
  while (!rest.empty()) out.settings.push_back(read_setting(cut(rest, ",")));
  return out;
}

std::string unescaped(std::string_view written) {
  std::string out;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] == '\\' && i + 1 < written.size()) ++i;
    out += written[i];
  }
  return out;
}

PolicyChoice read_policy(std::string_view text, std::string_view name) {
  std::string_view rest = text;
  PolicyChoice policy;
  policy.name = read_any_name(name, cut(rest, ":"));
  read_settings(rest, name, '-', policy.settings);
  return policy;
}

std::map<std::string, std::string> read_drafter_settings(std::string_view text, std::string_view name) {
  std::map<std::string, std::string> settings;
  read_settings(text, name, '.', settings);
  for (const auto& [key, value] : settings) {
    const std::size_t dot = key.starts_with('@') ? key.rfind('.') : key.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == key.size()) {
      throw Error(refused("speculative"), "{}: expected TYPE.KEY=VALUE, found '{}={}'", name, key, value);
    }
  }
  return settings;
}

void apply(const PlanText& text, SpeculationPlan& plan) {
  if (!text.drafters.empty()) plan.drafters = text.drafters;
  std::set<std::string_view> said;
  for (const auto& [name, written] : text.settings) {
    const PlanKey& key = find_plan_key(name);
    if (!said.insert(key.key).second) throw Error(refused("speculative"), "{} is given twice", name);
    // Settings within a value are taken apart before their backslashes are.
    set_value(plan, key, has_settings(key) ? written : unescaped(written));
  }
  check_plan(plan, &PlanKey::key);
}

}  // namespace augur

std::string augur::to_string(const augur::SpeculationPlan& plan) {
  std::string out = fmt::format("{}", fmt::join(plan.drafters, ","));
  char separator = ':';
  for (const PlanKey& key : plan_keys()) {
    if (!is_given(plan, key)) continue;
    out += separator;
    out += fmt::format("{}={}", key.key, to_text(plan, key));
    separator = ',';
  }
  return out;
}
