#include "files/drafting_names.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur {

void name_drafting_layers(WeightStore& store) {
  constexpr std::string_view kWithin = "model.";
  constexpr std::string_view kLayers = "model.mtp.";
  std::vector<std::string> names;
  std::vector<StoredTensor> named;
  for (auto it = store.tensors().lower_bound(kLayers);
       it != store.tensors().end() && it->first.starts_with(kLayers); ++it) {
    names.push_back(it->first);
    named.push_back(it->second);
    named.back().name = it->first.substr(kWithin.size());
  }
  if (!names.empty()) store.replace(names, std::move(named));
}

}  // namespace augur
