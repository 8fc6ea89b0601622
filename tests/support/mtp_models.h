#pragma once
#include <filesystem>
#include <string>

namespace augur::testing_support {

/// A tiny random Qwen3.5 with its own layer that drafts, "qwen3_5_mtp" or "qwen3_5_mtp_tied" (whose head is
/// the embedding), in a folder; `mtp_model_path(name) / "model.gguf"` is the same. What it must compute lies
/// beside: see tests/golden/make_mtp_golden.py.
inline std::filesystem::path mtp_model_path(const std::string& name) {
  return std::filesystem::path(AUGUR_SOURCE_DIR) / "tests" / "golden" / "mtp_models" / name;
}

}  // namespace augur::testing_support
