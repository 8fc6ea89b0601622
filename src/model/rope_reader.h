#pragma once
#include "files/json_fields.h"
#include "model/layer_spec.h"

namespace augur {

/// What a rotation's keys mean, and where they are.
struct RopeSource {
  double default_theta = 10000.0;
  const char* theta_key = "rope_theta";
  const char* layer_type = "";  ///< of layers that may have parameters of their own in `rope_parameters`
  bool scaled = true;           ///< false: `rope_scaling` is not for these layers
  double rotary_share = 1.0;    ///< of a head, where `partial_rotary_factor` is absent
  bool fixed_alpha = false;     ///< dynamic scaling with `alpha` is another base, whatever the context
  int head_dim = 0;
  std::int64_t max_positions = 0;
};

/// The rotation that a config.json says: `rope_scaling` with the theta beside it, or `rope_parameters`, which
/// newer files have for both. Error naming the key for what is missing, absurd or unsupported.
RopeConfig read_rope(const JsonFields& fields, const RopeSource& source);

/// `llama_4_scaling_beta`, which stands among the rotation's parameters; none where it is absent. Error where
/// it is there and not `read`, and for no parameters at all where it is: Ministral 3's defaults are scaled
/// ones.
QueryGrowth read_query_growth(const JsonFields& fields, bool read);

}  // namespace augur
