#pragma once
#include <torch/custom_class.h>
#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace augur {

/// Where sequences lie whose rows follow one another in matrices [T, ...]: what attention has to know of a
/// pack. Shared with autograd, which needs it in the backward pass. For one thread at a time.
class PackLayout final : public torch::CustomClassHolder {
 public:
  /// Sequences of these lengths, one at least, each of one row at least.
  PackLayout(std::vector<std::int64_t> lengths, torch::Device device);

  std::int64_t rows() const { return begins_.back(); }
  std::int64_t longest() const { return longest_; }
  torch::Device device() const { return positions_.device(); }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }

  const torch::Tensor& positions() const { return positions_; }  ///< [T] int64: of each row in its sequence
  /// For every row the one `ahead` rows later, or its sequence's last. [T] int64
  torch::Tensor rows_ahead(std::int64_t ahead) const;
  const torch::Tensor& bounds() const {
    return bounds_;
  }  ///< [sequences + 1] int32: the first row of each, and T

  /// Sequences of about one length, as a matrix with a row of places for each.
  struct Bucket {
    torch::Tensor
        rows;  ///< [sequences, length] int64: the pack's row in each place; behind an end: the last one
    torch::Tensor
        valid;  ///< [sequences, length] float32: 0 behind the end of a sequence; undefined: all are 1
  };
  /// All sequences, each in one bucket: few buckets, little of them padding. Made when first asked for.
  const std::vector<Bucket>& buckets() const;
  /// Where each of the pack's rows lies in the buckets' places one after another. [T] int64
  const torch::Tensor& places() const;

 private:
  void make_buckets() const;

  std::vector<std::int64_t> lengths_, begins_;
  std::int64_t longest_ = 0;
  torch::Tensor positions_, bounds_;
  torch::Tensor last_;  ///< [T] int64: the last row of each one's sequence
  mutable std::vector<Bucket> buckets_;
  mutable torch::Tensor places_;
};

using PackLayoutPtr = c10::intrusive_ptr<PackLayout>;

}  // namespace augur
