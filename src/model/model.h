#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/enums.h"
#include "base/types.h"
#include "checkpoint/checkpoint.h"
#include "kernels/backend.h"
#include "kernels/logit_form.h"
#include "model/config.h"
#include "model/fingerprint.h"
#include "model/kv_cache.h"
#include "model/weights.h"

namespace augur {

class Device;

/// The rows of one forward pass. Rows of one sequence are consecutive and parents precede children.
struct TokenBatch {
  struct Sequence {
    KvTxn* kv = nullptr;  ///< row first_row + i writes slot kv->base() + i
    int first_row = 0;
    int rows = 0;
    /// A tree grown level by level keeps its transaction open over several forwards: rows of it that earlier
    /// forwards wrote, and their parents (as rows of the transaction, -1: the prefix). Row first_row + i of
    /// this forward then writes slot kv->base() + earlier_rows + i.
    int earlier_rows = 0;
    const std::int32_t* earlier_parents = nullptr;  ///< [earlier_rows]
    /// Where the rows lie when that is not one after the other: offsets into the transaction, all different
    /// [rows]. Not together with earlier_rows.
    const std::int32_t* slots = nullptr;
  };
  std::span<const TokenId> tokens;          ///< [rows]
  std::span<const std::int32_t> positions;  ///< [rows] absolute rotary position
  /// [rows] the row (index in this batch, same sequence) that this row follows, or -1: it follows the
  /// committed prefix, or -2 - j: it follows row j < earlier_rows of its transaction, which an earlier
  /// forward wrote. A plain chain is -1, first, first+1, ...
  std::span<const std::int32_t> parents;
  std::span<const Sequence> sequences;

  int rows() const { return static_cast<int>(tokens.size()); }
};

/// Hidden states to read back from a forward pass, into memory of the host: the un-normed residual stream
/// *entering* layer id (0-based); id = layers means after the last layer.
struct Tap {
  int layer = 0;
  float* out = nullptr;         ///< [rows, out_stride]
  std::int64_t out_stride = 0;  ///< elements
};

/// Where the time of forward passes went, as thread 0 saw it. Passes add to it.
struct ForwardProfile {
  enum Step { Embed, Norm, Qkv, Rope, Attention, Output, GateUp, Down, Wait };
  static constexpr int kSteps = Wait + 1;
  std::array<double, kSteps> ms{};  ///< by Step; Wait: in barriers, for the other threads
};
std::string_view name(ForwardProfile::Step step);

/// What the rows of a block see in one layer. A block is a few rows at consecutive positions behind the
/// prefix; they see the prefix, and one another in both directions, unless this says less.
struct BlockMask {
  std::int64_t window = 0;  ///< > 0: nothing that lies so many positions or more behind the row
  bool causal = false;      ///< nothing that comes after the row
};

/// The rows that a product of a layer reads, float32 or bf16.
struct ProductInput {
  enum Product { Qkv, Output, GateUp, Down, LatentIn, LatentOut };
  Product product = Qkv;
  int layer = 0;
  int expert = -1;  ///< whose product it is; -1: a dense one, or the one that experts share
  InputForm form = InputForm::F32;
  const void* x = nullptr;  ///< [rows, stride], of which `width` columns count
  std::int64_t stride = 0;
  std::int64_t width = 0;
  int rows = 0;
};

/// Looks at what products read. Called by one thread at a time; others multiply meanwhile.
class InputObserver {
 public:
  virtual ~InputObserver() = default;
  virtual void saw(const ProductInput& input) = 0;
};

struct ForwardOptions {
  std::span<const Tap> taps;
  /// Layers [first_layer, last_layer) only; last_layer < 0 means all. A pass that does not start at layer 0
  /// takes its rows from `input` instead of the embedding.
  int first_layer = 0;
  int last_layer = -1;
  const float* input = nullptr;       ///< [rows, hidden], when first_layer > 0
  const float* embeddings = nullptr;  ///< [rows, hidden]: replaces the look-up when not null (drafters)
  /// [rows, width of layer 0's q, k, v products]: what attention in the first layer takes in place of the
  /// normed residual stream. For draft heads whose entrance is wider; not for a Model.
  const float* attention_input = nullptr;
  /// [layers]. Not empty: the rows of every sequence are a block (parents are those of a chain), for draft
  /// heads that predict several positions at once.
  std::span<const BlockMask> block;
  ForwardProfile* profile = nullptr;  ///< takes timestamps when not null
  InputObserver* inputs = nullptr;    ///< not null: sees them; Error where they are quantised
};

struct ModelOptions {
  /// Native (and Auto): quantised types that no product takes (those that quant_kind() does not know), and
  /// the rare gate and up matrices of different types, are expanded to bf16. F32 holds float checkpoints
  /// exactly; quantised ones are rounded to bf16 first, so that both are the same model and F32 differs in
  /// its arithmetic only.
  WeightFormat weights = WeightFormat::Auto;
  std::optional<WeightForm> form = std::nullopt;  ///< in place of what `weights` stands for
  KvFormat kv = KvFormat::Auto;  ///< of caches; Error for Q8_0 where heads are no multiples of 32
  /// Longest sequence; 0: ModelConfig::max_context. Error beyond ModelConfig::context_limit.
  std::int64_t context = 0;
  std::function<void(double)> progress = {};  ///< 0..1 while loading
  /// What computes, beside the host that load() is given. Null: the host itself. Outlives the model.
  Device* device = nullptr;
};

/// A decoder-only transformer of one of the supported families. Weights are immutable and shared; the
/// workspace is not: forward() and logits() of one Model may be called from one thread at a time.
class Model {
 public:
  /// Reads and packs the weights. Error naming file and tensor when one is missing, left over, mis-shaped.
  static std::unique_ptr<Model> load(Backend& backend, const Checkpoint& checkpoint,
                                     const ModelOptions& options = {});
  /// The same architecture with random weights, from a config.json alone: for timing shapes.
  static std::unique_ptr<Model> random(Backend& backend, const ModelConfig& config, std::uint64_t seed,
                                       const ModelOptions& options = {});
  ~Model();

  const ModelConfig& config() const;
  const Fingerprint& fingerprint() const;
  DType float_type() const;               ///< BF16 or F32: of what is not quantised
  DType kv_type() const;                  ///< of caches
  const WeightForm& weight_form() const;  ///< what the weights were packed to
  /// The matrices' types, those with the most elements first.
  std::span<const DType> types() const;
  /// Their names: "bf16", "q4_k, q6_k".
  const std::string& weight_types() const;
  std::int64_t context() const;
  std::int64_t weight_bytes() const;  ///< bytes a one-row forward + logits reads
  Device& device() const;
  Backend& backend() const;  ///< the host beside it
  /// Of the layers in their order, then of the head. Valid as long as the model.
  void visit_matrices(const std::function<void(const PackedMatrix&)>& visit) const;

  /// capacity 0: context(). A sequence known to stay short takes less (address space, huge pages).
  KvCache make_cache(std::int64_t capacity = 0) const;

  /// Runs the rows. The result is the residual stream after the last computed layer, before the final norm;
  /// it stays on the device until it is asked for. K/V of all rows are in their transactions' slots. Error
  /// for a token outside the vocabulary, a position outside the context or malformed parents.
  void forward(const TokenBatch& batch, const ForwardOptions& options = {});
  /// The last forward's result, read back: [rows, hidden], valid until the next one. On the host a view.
  std::span<const float> result() const;

  /// Distinct experts that the last forward's rows went to, those of all its layers added up; 0 without
  /// experts.
  std::int64_t woken_experts() const;

  /// Final norm + LM head for chosen rows of the last forward's result: out[i, 0..vocab).
  /// `out_stride` >= vocab rounded up to 16, multiple of 16; out is 64-byte aligned.
  void logits(std::span<const std::int32_t> rows, float* out, std::int64_t out_stride);
  /// The same for hidden rows given by the caller: [count, hidden] before the final norm (or after it, with
  /// `normed`).
  void logits_of(const float* hidden, int count, bool normed, float* out, std::int64_t out_stride);

  // What logits() is made of, for draft heads that project with the target's matrix.
  const PackedMatrix& lm_head() const;               ///< [vocab, hidden]
  LogitForm logit_form() const;                      ///< of what it gives
  const PackedMatrix& embedding() const;             ///< [vocab, hidden]
  std::span<const float> final_norm_weight() const;  ///< [hidden]
  /// Row of result(). [hidden]
  const float* result_row(int row) const;

  /// The final norm applied to rows: what EAGLE-1/2, Medusa and Hydra heads take as features.
  void final_norm(const float* hidden, int count, float* out) const;
  /// Embedding rows as they are stored, without ModelConfig::embedding_scale, float32. out[count, hidden]
  void embed(std::span<const TokenId> tokens, float* out) const;

 private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace augur
