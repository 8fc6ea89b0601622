#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "kernels/backend.h"
#include "kernels/ops.h"
#include "model/fingerprint.h"
#include "model/workspace.h"

namespace augur {

/// What a router reads. Previous is the paper's: the token's embedding and the drafter's state before it, so
/// that it could run beside the drafter's layers. State is what the head itself is about to project, after
/// the norm: it knows the context up to the token, and there is nothing to gather.
enum class RouterInput { Previous, State };

/// Clusters of a sequence at step t of a draft, for all its rows together (DynaSpec, equation 3): `first` at
/// 0, `second` at 1, then floor((second + t) / 2t), or with `floored` floor(second / 2t), as its algorithm 1
/// has it; one at least. Without position_aware `first` always.
struct ClusterBudget {
  std::int64_t first = 1;
  std::int64_t second = 1;
  bool position_aware = true;
  /// Every row of a sequence has the budget for itself, and the level gets the union (the paper's), in place
  /// of one budget for all rows.
  bool by_row = false;
  bool floored = false;  ///< only a plan says so, no part

  std::int64_t at(int step) const;
};

/// A DynaSpec part as it is stored: a partition of the vocabulary, and the router's layers.
///   config.json          "augur_part": "dynaspec", "format": 1, "vocab", "hidden" (of the drafter's states),
///                        "clusters", "router_hidden", "router_input": "previous" | "state",
///                        "budget": {"first", "second", "position_aware", optional "by_row"},
///                        "target": fingerprint;
///                        optional "held_out": {"best_token", "tokens"}
///   model.safetensors    cluster_of I32 [vocab]; router.fc1.weight [router_hidden, inputs], router.fc1.bias,
///                        router.fc2.weight [clusters, router_hidden], router.fc2.bias; inputs is 2 * hidden
///                        ("previous") or hidden ("state"). Any float type;
///                        written as bf16, which is what a router beside a bf16 head computes with
struct ClusterPart {
  std::string file;  ///< for messages
  std::int64_t vocab = 0;
  std::int64_t hidden = 0;
  std::int64_t clusters = 0;
  std::int64_t router_hidden = 0;
  RouterInput input = RouterInput::Previous;
  ClusterBudget budget;
  /// In contexts that the router did not learn from: how often the drafter's first token was computed, and
  /// how many tokens were, on average. 0: unknown.
  double best_token_share = 0;
  double tokens = 0;
  std::vector<std::int32_t> cluster_of;  ///< by token
  std::vector<float> fc1_weight, fc1_bias, fc2_weight, fc2_bias;

  std::int64_t inputs() const { return input == RouterInput::Previous ? 2 * hidden : hidden; }
  /// Of the router in bf16.
  std::int64_t router_bytes() const { return 2 * router_hidden * (inputs() + clusters); }

  /// Error naming file and field or tensor: another target or vocabulary size, a cluster number out of range,
  /// a cluster without tokens, a value that is not finite.
  static ClusterPart read(const std::filesystem::path& folder, const Fingerprint& target);
  /// The same; nothing where it is sound but was made for another target.
  static std::optional<ClusterPart> read_if_fits(const std::filesystem::path& folder,
                                                 const Fingerprint& target);
  /// `facts`: further fields of config.json.
  void write(const std::filesystem::path& folder, const nlohmann::ordered_json& facts) const;
};

/// The bias of clusters that every shortlist has: no score that a router learns reaches it.
inline constexpr float kAlwaysScore = 1e4f;

/// A two-layer perceptron that gives every cluster a score: fc2 relu(fc1 x).
class ClusterRouter {
 public:
  /// `type`: of its weights, F32 or BF16; that of the head, so that it can read what the head reads.
  ClusterRouter(const ClusterPart& part, DType type);

  std::int64_t inputs() const { return fc1_.k(); }
  std::int64_t clusters() const { return fc2_.n(); }
  InputForm input_form() const { return fc1_.input_form(); }
  std::int64_t bytes() const { return fc1_.bytes() + fc2_.bytes(); }

  /// Before the region.
  void ensure(int rows);
  /// On every thread of a region, rows [rows, x_stride] ready: scores(r) of all rows are there after the next
  /// barrier.
  void run(Team& team, const KernelSet& kernels, int rows, const void* x, std::int64_t x_stride);
  std::span<const float> scores(int row) const {
    return {scores_.floats(row), static_cast<std::size_t>(fc2_.n())};
  }

 private:
  std::vector<float> fc1_bias_, fc2_bias_;  ///< padded; before the matrices, whose making fills them
  PackedMatrix fc1_, fc2_;
  RowBuffer hidden_;     ///< [rows, router hidden] float32
  RowBuffer activated_;  ///< the same, as fc2 reads it
  RowBuffer scores_;     ///< [rows, clusters]
};

/// The `count` clusters with the largest scores are marked.
void mark_best(std::span<const float> scores, std::int64_t count, TopKScratch& scratch,
               std::vector<std::int32_t>& indices, std::vector<float>& values, std::vector<bool>& marked);

}  // namespace augur
