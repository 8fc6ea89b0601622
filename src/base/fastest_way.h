#pragma once
#include <cstddef>
#include <functional>

namespace augur {

/// One of several ways to do the same.
struct FastestWay {
  std::size_t way;
  double doubt;  ///< by which the times compared may be too long: standard error of a logarithm
};

/// The way that takes the least time, by measurement. `ms(way)` goes it once and says how long that took.
/// Ways take turns, so that what disturbs one disturbs the others; where they are disturbed, they are
/// measured more often. Way 0 is taken unless another needs less than `faster` of its time, whatever is in
/// doubt.
FastestWay fastest_way(std::size_t ways, double faster, const std::function<double(std::size_t)>& ms);

}  // namespace augur
