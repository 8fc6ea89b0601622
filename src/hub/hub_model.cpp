#include "hub/hub_model.h"

#include <algorithm>

#include "base/error.h"

namespace augur {

namespace {

constexpr std::size_t kLongestRepository = 96;
constexpr std::size_t kLongestQuant = 64;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.';
}

/// The hub's rules, which make sure that a repository's folder is one in the cache, too.
bool is_name(std::string_view name) {
  const auto at_end = [](char c) { return c != '-' && c != '.'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_plain) && at_end(name.front()) &&
         at_end(name.back()) && name.find("--") == std::string_view::npos &&
         name.find("..") == std::string_view::npos && !name.ends_with(".git");
}

}  // namespace

HubModel HubModel::parse(std::string_view text) {
  HubModel model;
  const auto colon = text.find(':');
  model.repository = text.substr(0, colon);
  const auto slash = model.repository.find('/');
  const std::string_view repository = model.repository;
  if (slash == std::string::npos || repository.size() > kLongestRepository ||
      !is_name(repository.substr(0, slash)) || !is_name(repository.substr(slash + 1))) {
    throw Error(
        "{:?} is no model of a hub: expected OWNER/NAME or OWNER/NAME:QUANT, like "
        "ggml-org/gemma-3-270m-GGUF:Q8_0",
        text);
  }
  if (colon == std::string_view::npos) return model;
  model.quant = text.substr(colon + 1);
  if (model.quant.empty() || model.quant.size() > kLongestQuant ||
      !std::all_of(model.quant.begin(), model.quant.end(), is_plain)) {
    throw Error("{:?}: expected a quantisation like Q4_K_M behind the colon", text);
  }
  return model;
}

}  // namespace augur
