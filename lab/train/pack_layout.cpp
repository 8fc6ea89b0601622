#include "lab/train/pack_layout.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

#include "lab/train/torch_ops.h"

namespace augur {

PackLayout::PackLayout(std::vector<std::int64_t> lengths, torch::Device device)
    : lengths_(std::move(lengths)) {
  assert(!lengths_.empty());
  begins_ = {0};
  std::vector<std::int64_t> positions, last;
  for (const std::int64_t length : lengths_) {
    assert(length > 0);
    for (std::int64_t i = 0; i < length; ++i) positions.push_back(i);
    begins_.push_back(begins_.back() + length);
    last.resize(positions.size(), begins_.back() - 1);
    longest_ = std::max(longest_, length);
  }
  positions_ = index_tensor(positions, device);
  last_ = index_tensor(last, device);
  bounds_ = index_tensor(begins_, device).to(torch::kInt32);
}

torch::Tensor PackLayout::rows_ahead(std::int64_t ahead) const {
  return torch::minimum(torch::arange(ahead, rows() + ahead, last_.options()), last_);
}

const std::vector<PackLayout::Bucket>& PackLayout::buckets() const {
  if (buckets_.empty()) make_buckets();
  return buckets_;
}

const torch::Tensor& PackLayout::places() const {
  if (buckets_.empty()) make_buckets();
  return places_;
}

void PackLayout::make_buckets() const {
  // What a bucket's attention keeps at a time, for each head: matrices of length^2 for every sequence. On a
  // CPU they shall stay in its cache.
  const std::int64_t most = device().is_cpu() ? 1 << 18 : 1 << 24;
  constexpr double kShortest = 0.85;  // of a bucket's longest: at most a quarter of its scores are padding
  // Products of few different shapes, since libtorch compiles kernels for each: lengths are multiples of
  // this, numbers of sequences powers of two.
  constexpr std::int64_t kMultiple = 16;
  std::vector<std::size_t> order(lengths_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths_[a] > lengths_[b]; });
  std::vector<std::int64_t> places(static_cast<std::size_t>(rows()));
  std::int64_t place = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const std::int64_t longest = lengths_[order[begin]];
    const std::int64_t length = (longest + kMultiple - 1) / kMultiple * kMultiple;
    const auto fits = [&](std::size_t i) {
      return static_cast<double>(lengths_[order[i]]) >= kShortest * static_cast<double>(longest) &&
             static_cast<std::int64_t>(i - begin + 1) * length * length <= most;
    };
    for (end = begin + 1; end < order.size() && fits(end);) ++end;
    end = begin + std::bit_floor(end - begin);
    std::vector<std::int64_t> rows;
    std::vector<float> valid;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t first = begins_[order[i]];
      const std::int64_t own = lengths_[order[i]];
      for (std::int64_t r = 0; r < length; ++r, ++place) {
        rows.push_back(first + std::min(r, own - 1));
        valid.push_back(r < own ? 1.0f : 0.0f);
        if (r < own) places[static_cast<std::size_t>(first + r)] = place;
      }
    }
    const bool padded = lengths_[order[end - 1]] < length;
    buckets_.push_back(
        {.rows = index_tensor(rows, device()).view({-1, length}),
         .valid = padded ? on_device(torch::tensor(valid), device()).view({-1, length}) : torch::Tensor()});
  }
  places_ = index_tensor(places, device());
}

}  // namespace augur
