#include "server/fields/speculative_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "files/big_integers.h"
#include "server/fields/json_fields.h"

namespace augur {

using nlohmann::ordered_json;

SpeculationPlan read_speculative(const ordered_json& value, const SpeculationPlan& base) {
  if (!value.is_object()) unexpected("speculative", "an object");
  constexpr std::array kKeys = {"n-max", "n-min",     "p-min",     "topk",    "depth",
                                "size",  "ngram-min", "ngram-max", "coupling"};
  std::string text;
  std::string settings;
  for (const auto& [name, item] : value.items()) {
    const std::string at = "speculative." + name;
    std::string key = name;
    std::replace(key.begin(), key.end(), '_', '-');
    const std::string word = item.is_string() ? item.get<std::string>() : write_exact_json(item);
    if (word.find_first_of(key == "type" ? "/\\:;=" : "/\\:;=,") != std::string::npos) {
      throw BadRequest(at, fmt::format("'{}' may not stand in a request", word));
    }
    if (key == "type") {
      text = word;
    } else if (key == "policy" || std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) {
      settings += (settings.empty() ? "" : ",") + key + "=" + word;
    } else {
      unsupported(at);
    }
  }
  SpeculationPlan under = base;
  if (text == "none") return SpeculationPlan::parse("none");
  if (text.empty()) {
    for (const std::string& name : base.drafters) text += (text.empty() ? "" : ",") + name;
  }
  // Limits of the request's shape are not to be mixed with those of another policy.
  if (value.contains("policy"))
    under = {.drafters = base.drafters, .draft_vocabulary = base.draft_vocabulary};
  try {
    return SpeculationPlan::parse(settings.empty() ? text : text + ":" + settings, under);
  } catch (const Error& error) {
    throw BadRequest("speculative", error.what());
  }
}

}  // namespace augur
