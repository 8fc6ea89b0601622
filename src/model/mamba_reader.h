#pragma once
#include "files/json_fields.h"
#include "model/families.h"
#include "model/recurrent_spec.h"

namespace augur {

/// What Mamba2's layers are, from a config.json of a family with such keys. `hidden`: of the residual stream.
/// Error naming the key for what is absurd or unsupported.
RecurrentSpec read_mamba(const JsonFields& fields, const MambaKeys& keys, std::int64_t hidden);

}  // namespace augur
