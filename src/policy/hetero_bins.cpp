#include "policy/hetero_bins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/elementary.h"
#include "files/json_fields.h"
#include "model/part_folder.h"

namespace augur {
namespace {

/// The mean accepted length of drafts that are accepted whole half the time, every level as likely as any
/// other: p^depth = 1/2.
double even_length(int depth) {
  double sum = 0;
  for (int k = 1; k <= depth; ++k) sum += elementary::pow(2, -static_cast<double>(k) / depth);
  return sum;
}

/// HeteroBins::sure of a part's list of bins, which lies in `fields` of `file`.
int sure_bins(const nlohmann::json& bins, int depth, const JsonFields& fields, const std::string& file) {
  const double enough = even_length(depth);
  int sure = 0;
  for (int i = 0; i < std::ssize(bins); ++i) {
    const nlohmann::json& item = bins[static_cast<std::size_t>(i)];
    const std::string name = fmt::format("bins[{}]", i);
    if (!item.is_object()) fields.fail(name, "expected an object");
    const JsonFields bin(item, file, name + ".");
    const auto length = bin.find_number("mean_length", 0, depth);
    if (sure == i && length && *length >= enough) ++sure;
  }
  return sure;
}

}  // namespace

int HeteroBins::bin(double phi) const {
  return static_cast<int>(std::upper_bound(thresholds.begin(), thresholds.end(), phi) - thresholds.begin());
}

HeteroBins HeteroBins::read(const std::filesystem::path& folder, const Fingerprint* target,
                            std::string* warning) {
  constexpr std::int64_t kMostLevels = 8;
  constexpr std::int64_t kMost = 1 << 16;
  const PartFolder part(folder, "hetero", PartFolder::Tensors::None);
  const std::string said = part.check_target(target, Strictness::SameFamily);
  if (warning != nullptr) *warning = said;
  const JsonFields& fields = part.config();
  HeteroBins out;
  out.top_k = static_cast<int>(fields.require_int("top_k", kMost));
  out.depth = static_cast<int>(fields.require_int("depth", kMost));
  const std::int64_t levels = fields.require_int("levels", kMostLevels);

  const nlohmann::json* thresholds = fields.find("thresholds");
  if (thresholds == nullptr || !thresholds->is_array())
    fields.fail("thresholds", "expected a list of numbers");
  for (const nlohmann::json& item : *thresholds) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) {
      fields.fail("thresholds", "expected a list of finite numbers");
    }
    if (!out.thresholds.empty() && item.get<double>() <= out.thresholds.back()) {
      fields.fail("thresholds", "are not ascending");
    }
    out.thresholds.push_back(item.get<double>());
  }
  if (out.count() > 1 << levels) {
    fields.fail("thresholds", fmt::format("make {} bins, a tree of {} levels has {} at most", out.count(),
                                          levels, 1 << levels));
  }
  const nlohmann::json* bins = fields.find("bins");
  if (bins == nullptr || !bins->is_array() || std::ssize(*bins) != out.count()) {
    fields.fail("bins", fmt::format("expected a list of {}, as many as the thresholds make", out.count()));
  }
  out.sure = sure_bins(*bins, out.depth, fields, part.file());
  return out;
}

}  // namespace augur
