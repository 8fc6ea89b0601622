#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/train/torch_tensors.h"
#include "lab/train/trace_set.h"

namespace augur {

/// Writes a calibrated part's folder: config.json (`fields` beside the part's name, format and target),
/// model.safetensors where there are tensors, README.md. Each file replaces an older one as a whole.
void write_part(const std::filesystem::path& folder, const std::string& part, const TraceHeader& traces,
                const nlohmann::json& fields, const NamedTensors& tensors, const std::string& card);

}  // namespace augur
