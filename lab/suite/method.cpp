#include "lab/suite/method.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "augur/engine.h"
#include "base/error.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

template <class T>
T parse_number(const std::string& method, std::string_view key, std::string_view text, T lowest, T highest) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc{} && end == text.data() + text.size() && value >= lowest && value <= highest) {
    return value;
  }
  throw Error("{}: {}: expected a number from {} to {}", method, key, lowest, highest);
}

/// Settings of policies that name parts.
constexpr std::array<std::string_view, 4> kPartKeys = {"model=", "c2t=", "hetero=", "acceptance="};

/// The policy's settings that name files, with their paths.
std::string with_part_paths(std::string_view policy, const fs::path& parts) {
  std::string out;
  for (std::size_t at = 0; at < policy.size();) {
    const std::size_t end = std::min(policy.find_first_of(":;", at), policy.size());
    const std::string_view piece = policy.substr(at, end - at);
    const std::size_t value = piece.find('=') + 1;  // 0: none
    const bool is_part =
        std::find(kPartKeys.begin(), kPartKeys.end(), piece.substr(0, value)) != kPartKeys.end();
    out += is_part ? std::string(piece.substr(0, value)) + part_path(std::string(piece.substr(value)), parts)
                   : std::string(piece);
    if (end < policy.size()) out += policy[end];
    at = end + 1;
  }
  return out;
}

/// Where FILE stands in "KIND:FILE" or "KIND:FILE:SIZE": its first character, and how many.
std::pair<std::size_t, std::size_t> file_of(std::string_view vocabulary) {
  const std::size_t colon = std::min(vocabulary.find(':'), vocabulary.size());
  const std::size_t begin = std::min(colon + 1, vocabulary.size());
  return {begin, std::min(vocabulary.find(':', begin), vocabulary.size()) - begin};
}

/// "dynaspec:FOLDER:8;4" as `--spec-vocab` takes it.
std::string vocabulary_of(std::string_view value, const fs::path& parts) {
  std::string out(value);
  if (const auto [begin, length] = file_of(value); length > 0) {
    out.replace(begin, length, part_path(out.substr(begin, length), parts));
  }
  std::replace(out.begin(), out.end(), ';', ',');
  return out;
}

void set_option(Method& method, std::string_view key, std::string_view value, const fs::path& parts) {
  SpeculationOptions& o = method.speculation;
  const auto number = [&](int lowest, int highest) {
    return parse_number(method.text, key, value, lowest, highest);
  };
  if (key == "n-max") {
    o.draft_max = number(1, 1024);
  } else if (key == "n-min") {
    o.draft_min = number(0, 1024);
  } else if (key == "p-min") {
    o.draft_p_min = parse_number(method.text, key, value, 0.0, 1.0);
  } else if (key == "topk") {
    o.tree_topk = number(1, 256);
  } else if (key == "depth") {
    o.tree_depth = number(1, 256);
  } else if (key == "size") {
    o.tree_size = number(2, 4096);
  } else if (key == "tree") {
    o.static_tree = value;
  } else if (key == "exit") {
    o.exit_layer = number(0, 1024);
  } else if (key == "policy") {
    o.policy = with_part_paths(value, parts);
  } else if (key == "coupling") {
    o.coupling = number(0, 1) == 1;
  } else if (key == "model") {
    method.draft_model = part_path(std::string(value), parts);
  } else if (key == "vocab") {
    method.draft_vocabulary = vocabulary_of(value, parts);
  } else if (key == "label") {
    method.label = value;
  } else {
    throw Error(
        "{}: '{}' is not one of model, vocab, label, policy, n-max, n-min, p-min, topk, depth, size, tree, "
        "exit, "
        "coupling",
        method.text, key);
  }
}

/// "vocab=KIND:SIZE" of "vocab=KIND:FILE:SIZE"; other settings as they are.
std::string without_path(std::string_view setting) {
  std::string out(setting);
  if (!setting.starts_with("vocab=")) return out;
  if (const auto [begin, length] = file_of(setting); length > 0) out.erase(begin - 1, length + 1);
  return out;
}

/// The text without model=...: what tells methods apart for the eye.
std::string short_text(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::string(text);
  std::string out(text.substr(0, colon));
  char separator = ':';
  std::string_view rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view setting = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), setting.size() + 1));
    if (setting.starts_with("model=")) continue;
    out += separator + without_path(setting);
    separator = ',';
  }
  return out;
}

}  // namespace

std::string part_path(const std::string& name, const fs::path& parts) {
  if (!parts.empty() && fs::exists(parts / name)) return (parts / name).string();
  return name;
}

Method parse_method(const std::string& text, const SpeculationOptions& base, const fs::path& parts) {
  Method method{.text = text,
                .label = {},
                .draft_model = {},
                .draft_vocabulary = {},
                .speculation = base,
                .server = {}};
  std::string_view rest = text;
  const auto cut = [&rest](char separator) {
    const std::string_view head = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(rest.size(), head.size() + 1));
    return head;
  };
  const std::string_view names = cut(':');
  const std::string_view settings = rest;
  method.speculation.types.clear();
  const std::vector<SpeculationType> types = speculation_types();
  for (rest = names; method.speculation.types.empty() || !rest.empty();) {
    const std::string_view name = cut(',');
    const bool known = std::any_of(types.begin(), types.end(),
                                   [&](const SpeculationType& type) { return type.name == name; });
    if (!known && name != "auto" && names != "plain") {
      throw Error("{}: '{}' is neither plain nor a speculation type", text, name);
    }
    method.speculation.types.emplace_back(names == "plain" ? "none" : name);
  }
  for (rest = settings; !rest.empty();) {
    const std::string_view setting = cut(',');
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos) throw Error("{}: '{}' is not KEY=VALUE", text, setting);
    set_option(method, setting.substr(0, equals), setting.substr(equals + 1), parts);
  }
  if (method.label.empty()) method.label = short_text(text);
  return method;
}

}  // namespace augur
