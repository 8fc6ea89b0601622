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
  int head_dim = 0;
  std::int64_t max_positions = 0;
};

/// The rotation that a config.json says: `rope_scaling` with the theta beside it, or `rope_parameters`, which
/// newer files have for both. Error naming the key for what is missing, absurd or unsupported.
RopeConfig read_rope(const JsonFields& fields, const RopeSource& source);

}  // namespace augur
