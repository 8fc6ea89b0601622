#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "model/config.h"

namespace augur {

class Checkpoint;
class WeightSource;

/// Which model a learned part was made for: kept in the part's config.json and compared when it is loaded.
struct Fingerprint {
  std::string family;  ///< compared by GGUF's name: a "mistral" folder's GGUF file is a "llama"
  int hidden = 0;
  int layers = 0;
  std::int32_t vocab = 0;
  /// Hash of the vocabulary's size and of some of the norms' weights, 16 hexadecimal digits. No format
  /// quantises norms, and bfloat16 is as exact as they are compared: the digest of a model's GGUF file is
  /// that of its Hugging Face folder. A model tuned without touching its norms passes for its base.
  std::string digest;

  friend bool operator==(const Fingerprint& a, const Fingerprint& b);
};

/// Error when a norm is missing or has another shape.
Fingerprint fingerprint_of(const ModelConfig& config, WeightSource& source);
Fingerprint fingerprint_of(const Checkpoint& checkpoint);

/// Tells the rotations of a model opened with `context` tokens from those that it has with another: a hash of
/// the frequencies, 16 hexadecimal digits; empty where they depend on the model alone.
std::string rotation_digest(const ModelConfig& config, std::int64_t context);

nlohmann::json to_json(const Fingerprint& fingerprint);
std::string to_string(const Fingerprint& fingerprint);

/// How much of a part depends on the target that it was made for.
enum class Strictness {
  SameModel,       ///< draft heads, acceptance heads: another model's states mean nothing to them
  SameFamily,      ///< C2T: transfers within a family, with a warning
  SameVocabulary,  ///< token frequencies
};

/// Where a part's configuration names its target: heads have keys of other tools beside it.
inline constexpr const char* kHeadTargetKey = "augur_target";
inline constexpr const char* kPartTargetKey = "target";

/// What a part's configuration says that it was made for, under either key; empty where it does not. Error
/// when what is there is no fingerprint.
std::optional<Fingerprint> stated_target(const std::string& file, const nlohmann::json& config);

/// Compares what `config` says of the target, under either key, with the target at hand. Error naming `file`
/// and both models when the part is not for it, or when what is there is no fingerprint. Returns a warning
/// where they differ and the part may be used all the same, otherwise nothing; a configuration that does not
/// name its target (a head made elsewhere) is taken as it is.
std::string check_fingerprint(const std::string& file, const nlohmann::json& config,
                              const Fingerprint& target, Strictness strictness);

/// Whether check_fingerprint() would let the part be used. Error when what is there is no fingerprint.
bool fits_fingerprint(const std::string& file, const nlohmann::json& config, const Fingerprint& target,
                      Strictness strictness);

}  // namespace augur
