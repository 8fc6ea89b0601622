#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "lab/corpus/dataset.h"
#include "lab/train/torch_tensors.h"

namespace augur {

/// The tokens that a head with a vocabulary of its own can draft: some of the target's, ascending by id, or
/// all of them.
class DraftVocabulary {
 public:
  /// All tokens of the target.
  explicit DraftVocabulary(std::int32_t target_size);
  /// Ascending ids.
  DraftVocabulary(std::int32_t target_size, const std::vector<TokenId>& ids);

  /// The same for tensors on a device; where it was made is the CPU.
  DraftVocabulary on(torch::Device device) const;

  bool is_full() const { return !ids_.defined(); }
  std::int32_t target_size() const { return target_size_; }
  std::int64_t size() const { return is_full() ? target_size_ : ids_.size(0); }
  /// Columns of [R, target vocabulary], or rows of [target vocabulary, h].
  torch::Tensor columns(const torch::Tensor& x) const { return is_full() ? x : x.index_select(1, ids_); }
  torch::Tensor rows(const torch::Tensor& x) const { return is_full() ? x : x.index_select(0, ids_); }
  /// Whether tokens [n] int64 of the target are in it. [n] bool
  torch::Tensor covers(const torch::Tensor& tokens) const;
  /// Where tokens [n] int64 of the target are in it; -1: they are not. [n] int64
  torch::Tensor entries(const torch::Tensor& tokens) const;
  /// Brings `rows` [size, h] to where their_rows [theirs.size(), h], of any device and type, are: tokens that
  /// `theirs` has too get its rows, others are moved as those were, by the affine map of least squares. A
  /// head that was trained away from the target's rows so takes new ones from there.
  void take_rows(torch::Tensor rows, const DraftVocabulary& theirs, const torch::Tensor& their_rows) const;
  /// As published heads store it: `d2t`, the offset from each entry to its token, and the mask `t2d`; on the
  /// CPU. Nothing when it is the target's own.
  NamedTensors maps() const;

 private:
  std::int32_t target_size_;
  torch::Tensor ids_;   ///< [size] int64; undefined: all
  torch::Tensor mask_;  ///< [target vocabulary] bool
};

/// The draft vocabulary of a part saved earlier: its `d2t`, or the target's whole vocabulary where there is
/// none. Error naming file and tensor for ids outside the target's vocabulary or not ascending.
DraftVocabulary stored_vocabulary(const std::filesystem::path& file, std::int32_t target_size);

/// What the dataset's learnable positions say of a vocabulary of BPE: how often they hold each token, plus
/// what its id lets expect. Merges are numbered by falling frequency in the text that the tokenizer was
/// trained on, which is much more text than a head learns from, so ids carry a prior (Zipf-Mandelbrot, 1 /
/// (id + 200)). It weighs a quarter of the dataset, at most 2^18 positions, and ranks the tokens that a
/// dataset has seen rarely or never. [vocabulary]
std::vector<double> expected_counts(const Dataset& data, std::int32_t vocabulary);

/// The `size` tokens of the largest expected count, ascending by id. Every id in `always` is in. Error when
/// size exceeds the vocabulary.
std::vector<TokenId> frequent_tokens(const Dataset& data, std::int32_t vocabulary, std::int32_t size,
                                     std::span<const TokenId> always);

}  // namespace augur
