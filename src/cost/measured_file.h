#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "kernels/backend.h"

namespace augur {

// What was measured on a machine is kept in files, so that it outlives a process.

/// EngineOptions::cost_cache as a folder: $XDG_CACHE_HOME/augur/costs or ~/.cache/augur/costs where it is
/// empty (an empty path where there is no home, either), nothing for "none".
std::filesystem::path measured_folder(const std::string& cost_cache);

/// Everything that times depend on beside the model: version, arithmetic's law, a hash of the code that is
/// timed and of its compiler (builds that differ share no figures), processor, kernels, threads.
nlohmann::json circumstances(const Backend& backend);

/// 16 hexadecimal digits.
std::string hash_text(std::string_view text);

/// One of them.
class MeasuredFile {
 public:
  /// FOLDER/STEM-HASH.json, with a hash of the circumstances; nowhere without a folder. `kind`: the key of
  /// its format's number.
  MeasuredFile(const std::filesystem::path& folder, std::string_view stem, const char* kind,
               const nlohmann::json& circumstances);

  /// Empty: nowhere.
  const std::filesystem::path& path() const { return path_; }
  /// What write() was given; empty where there is no file. Error where it is of another format, or for other
  /// circumstances.
  nlohmann::json read() const;
  /// Replaces the file, and makes its folder where there is none. Error naming what cannot be written.
  void write(nlohmann::json content) const;

 private:
  std::filesystem::path path_;
  const char* kind_;
  nlohmann::json circumstances_;
};

}  // namespace augur
