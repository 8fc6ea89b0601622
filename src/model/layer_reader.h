#pragma once
#include <string>
#include <vector>

#include "files/json_fields.h"
#include "model/block_pattern.h"
#include "model/config.h"
#include "model/families.h"

namespace augur {

/// A cap of scores or logits: `key`, or `fallback` where it is absent; null: none (0).
double read_cap(const JsonFields& fields, const char* key, double fallback);

/// Fills the layers' descriptors from a config.json as a family's row of the table says. Error naming the key
/// for what is missing, absurd or unsupported.
class LayerReader {
 public:
  /// `shapes`: read already.
  LayerReader(const JsonFields& fields, const Family& family, const ModelConfig& shapes,
              std::int64_t max_positions);

  LayerSpec layer(int index) const;
  /// Of layers that see the whole context: the one that says how long that is.
  const RopeConfig& full_rope() const { return full_rope_; }

 private:
  void read_common();
  void read_activation();
  void read_scores();
  void read_windows();
  std::vector<bool> windowed_by_rule() const;
  void read_rotations(std::int64_t max_positions);
  void read_thetas();
  void check_rotating_layers() const;
  void read_experts();
  void read_pattern_experts();
  void read_convolutions();
  void read_recurrent_layers();
  void read_mamba_layers();
  void read_pattern();
  LayerSpec pattern_layer(PatternBlock block) const;
  void require_attention(const char* key, const std::vector<bool>& without) const;
  void clear_listed(const char* key, const nlohmann::json& list, std::vector<bool>& flags) const;

  const JsonFields& fields_;
  const Family& family_;
  const ModelConfig& shapes_;
  LayerSpec common_;            ///< what all layers are
  std::vector<bool> windowed_;  ///< [layers]
  std::int64_t window_ = 0;
  std::vector<bool> rotates_;   ///< [layers]
  std::vector<double> thetas_;  ///< [layers], 0: does not rotate; empty: as the rotations have it
  RopeConfig full_rope_, window_rope_;
  std::vector<bool> has_experts_;  ///< [layers]
  ExpertSpec experts_;
  std::vector<bool> convolves_;  ///< [layers]
  ShortConvSpec conv_;
  std::vector<bool> recurs_;  ///< [layers]
  RecurrentSpec recurrent_;
  std::vector<PatternBlock> pattern_;  ///< [layers] of Family::single_blocks; else empty
};

}  // namespace augur
