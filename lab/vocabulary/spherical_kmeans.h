#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/backend.h"

namespace augur {

struct KMeansOptions {
  std::int64_t clusters = 0;
  int iterations = 12;
  std::uint64_t seed = 1;
};

/// Spherical k-means (Dhillon and Modha, 2001) over the directions of `entries`
/// rows of a head: the cluster of each, by cosine with the cluster's mean
/// direction, equals to the lower number. Sizes are what comes out; a cluster
/// that loses all its rows takes the row that lies farthest from its own mean.
/// Error when there are fewer rows than clusters. The same for the same seed on
/// every machine with the same kernels. Own code: around the engine's product it is one loop.
std::vector<std::int32_t> spherical_kmeans(Backend& backend, const PackedMatrix& head,
                                           std::span<const std::int32_t> entries,
                                           const KMeansOptions& options,
                                           const std::function<void(double)>& progress = {});

}  // namespace augur
