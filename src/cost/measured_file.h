#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "kernels/backend.h"

namespace augur {

// Files of what was measured on a machine, so that it outlives a process.

/// EngineOptions::cost_cache as a folder: $XDG_CACHE_HOME/augur/costs or ~/.cache/augur/costs where it is
/// empty (an empty path where there is no home, either), nothing for "none".
std::filesystem::path measured_folder(const std::string& cost_cache);

/// Everything that times depend on beside the model: version, arithmetic's law, a hash of the code that is
/// timed and of its compiler (builds that differ share no figures), processor, kernels, threads.
nlohmann::json circumstances(const Backend& backend);

/// FOLDER/STEM-HASH.json, with a hash of what the file is for; empty without a folder.
std::filesystem::path measured_file(const std::filesystem::path& folder, std::string_view stem,
                                    const nlohmann::json& circumstances);

/// 16 hexadecimal digits.
std::string hash_text(std::string_view text);

/// What the file holds; empty where there is none. Error where the number `kind` is not `format`, or "for"
/// not what these circumstances are.
nlohmann::json read_measured(const std::filesystem::path& file, const char* kind, int format,
                             const nlohmann::json& circumstances);

/// Replaces the file, and makes its folder where there is none. Error naming what cannot be written.
void write_measured(const std::filesystem::path& file, const nlohmann::json& content);

}  // namespace augur
