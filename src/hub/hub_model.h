#pragma once
#include <string>
#include <string_view>

namespace augur {

/// A model on a hub, as users name it.
struct HubModel {
  std::string repository;  ///< owner/name
  std::string quant;       ///< Q4_K_M, …; empty: none is asked for
  std::string file;        ///< one of the repository's; empty: chosen by `quant`

  /// owner/name or owner/name:quant. Error for anything else, and for names that a hub cannot have.
  static HubModel parse(std::string_view text);
  /// As it was written.
  std::string name() const { return quant.empty() ? repository : repository + ":" + quant; }
};

}  // namespace augur
