#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "model/fingerprint.h"

namespace augur {

/// HeteroSpec's strata: the leaves of a regression tree of the terminal confidence rank on Phi, the
/// cumulative meta-path entropy of a draft. Bin 0 holds the lowest entropies, the easiest texts.
struct HeteroBins {
  int top_k = 0;                   ///< probabilities that entropies are taken over
  int depth = 0;                   ///< drafted tokens that Phi sums over
  std::vector<double> thresholds;  ///< ascending; bin i lies between thresholds i - 1 and i
  /// Lowest bins whose drafts are likelier than not to be accepted whole; 0: parts that were made of
  /// confidence ranks do not say how much was accepted.
  int sure = 0;

  int count() const { return static_cast<int>(thresholds.size()) + 1; }
  int bin(double phi) const;

  /// Reads a folder: config {"levels", "thresholds", "bins", "top_k", "depth"}, no tensors. Bins may have a
  /// "mean_length", the tokens accepted of `depth`.
  static HeteroBins read(const std::filesystem::path& folder, const Fingerprint* target,
                         std::string* warning);
};

}  // namespace augur
