#include "lab/vocabulary/spherical_kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"
#include "lab/vocabulary/matrix_product.h"

namespace augur {
namespace {

/// Rows whose cosines with all means are held at once.
constexpr std::int64_t kBlock = 1024;

void normalise(float* row, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(row[i]) * row[i];
  if (sum <= 0) return;  // an untrained token's row of zeros: no direction, some cluster
  const auto scale = static_cast<float>(1.0 / std::sqrt(sum));
  for (std::int64_t i = 0; i < n; ++i) row[i] *= scale;
}

/// `count` different numbers below `n`.
std::vector<std::int64_t> draw(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0x4b4du}, seed);
    const std::uint64_t wide = (std::uint64_t{bits[0]} << 32) | bits[1];
    const auto j = i + static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(n - i));
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(j)]);
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

class SphericalKMeans {
 public:
  SphericalKMeans(Backend& backend, Matrix directions, const KMeansOptions& options)
      : backend_(backend),
        directions_(std::move(directions)),
        means_(options.clusters, directions_.columns),
        cluster_of_(static_cast<std::size_t>(directions_.rows)),
        cosines_(cluster_of_.size()) {
    const std::vector<std::int64_t> first = draw(directions_.rows, options.clusters, options.seed);
    for (std::int64_t c = 0; c < options.clusters; ++c) {
      std::copy_n(directions_.row(first[static_cast<std::size_t>(c)]), directions_.columns, means_.row(c));
    }
  }

  /// Returns whether a row changed its cluster.
  bool assign() {
    bool changed = false;
    Matrix block;
    for (std::int64_t first = 0; first < directions_.rows; first += kBlock) {
      const std::int64_t count = std::min(kBlock, directions_.rows - first);
      block = Matrix(count, directions_.columns);
      std::copy_n(directions_.row(first), count * directions_.columns, block.values.data());
      const Matrix cosines = product_with_transposed(backend_, block, means_);
      for (std::int64_t r = 0; r < count; ++r) {
        const float* row = cosines.row(r);
        const auto best = static_cast<std::int32_t>(std::max_element(row, row + means_.rows) - row);
        const auto at = static_cast<std::size_t>(first + r);
        changed = changed || cluster_of_[at] != best;
        cluster_of_[at] = best;
        cosines_[at] = row[best];
      }
    }
    return changed;
  }

  /// Gives every empty cluster the row that fits its own worst.
  void fill_empty() {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(means_.rows));
    for (const std::int32_t c : cluster_of_) ++sizes[static_cast<std::size_t>(c)];
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      if (sizes[c] > 0) continue;
      std::size_t worst = cosines_.size();
      for (std::size_t r = 0; r < cosines_.size(); ++r) {
        if (sizes[static_cast<std::size_t>(cluster_of_[r])] < 2) continue;
        if (worst == cosines_.size() || cosines_[r] < cosines_[worst]) worst = r;
      }
      --sizes[static_cast<std::size_t>(cluster_of_[worst])];
      ++sizes[c];
      cluster_of_[worst] = static_cast<std::int32_t>(c);
      cosines_[worst] = 1.0f;
    }
  }

  void move_means() {
    std::fill(means_.values.begin(), means_.values.end(), 0.0f);
    for (std::int64_t r = 0; r < directions_.rows; ++r) {
      float* mean = means_.row(cluster_of_[static_cast<std::size_t>(r)]);
      const float* row = directions_.row(r);
      for (std::int64_t i = 0; i < directions_.columns; ++i) mean[i] += row[i];
    }
    for (std::int64_t c = 0; c < means_.rows; ++c) normalise(means_.row(c), means_.columns);
  }

  const std::vector<std::int32_t>& cluster_of() const { return cluster_of_; }

 private:
  Backend& backend_;
  Matrix directions_;  ///< [rows, k]
  Matrix means_;       ///< [clusters, k]
  std::vector<std::int32_t> cluster_of_;
  std::vector<float> cosines_;  ///< with the row's own mean
};

}  // namespace

std::vector<std::int32_t> spherical_kmeans(Backend& backend, const PackedMatrix& head,
                                           std::span<const std::int32_t> entries,
                                           const KMeansOptions& options,
                                           const std::function<void(double)>& progress) {
  if (options.clusters < 1 || options.clusters > std::ssize(entries)) {
    throw Error("{} clusters of {} tokens were asked for", options.clusters, entries.size());
  }
  Matrix directions(std::ssize(entries), head.k());
  for (std::int64_t r = 0; r < directions.rows; ++r) {
    head.get_row(entries[static_cast<std::size_t>(r)], directions.row(r));
    normalise(directions.row(r), directions.columns);
  }
  SphericalKMeans means(backend, std::move(directions), options);
  for (int i = 0; i < options.iterations; ++i) {
    const bool changed = means.assign();
    means.fill_empty();
    if (!changed && i > 0) break;
    if (i + 1 < options.iterations) means.move_means();
    if (progress) progress(static_cast<double>(i + 1) / options.iterations);
  }
  return means.cluster_of();
}

}  // namespace augur
