#include "model/fingerprint.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "checkpoint/checkpoint.h"
#include "files/json_fields.h"
#include "model/families.h"
#include "model/weights.h"

namespace augur {
namespace {

Fingerprint read_fingerprint(const JsonFields& fields) {
  constexpr std::int64_t kMost = INT32_MAX;
  const auto text = [&](const char* key) {
    const auto value = fields.find_string(key);
    if (!value) fields.fail(key, "missing");
    return *value;
  };
  return {.family = text("family"),
          .hidden = static_cast<int>(fields.require_int("hidden", kMost)),
          .layers = static_cast<int>(fields.require_int("layers", kMost)),
          .vocab = static_cast<std::int32_t>(fields.require_int("vocab", kMost)),
          .digest = text("digest")};
}

bool same_family(const Fingerprint& a, const Fingerprint& b) {
  return gguf_architecture(a.family) == gguf_architecture(b.family);
}

bool acceptable(const Fingerprint& part, const Fingerprint& target, Strictness strictness) {
  switch (strictness) {
    case Strictness::SameModel:
      return part == target;
    case Strictness::SameFamily:
      return same_family(part, target);
    case Strictness::SameVocabulary:
      return part.vocab == target.vocab;
  }
  return false;
}

}  // namespace

bool operator==(const Fingerprint& a, const Fingerprint& b) {
  return same_family(a, b) && a.hidden == b.hidden && a.layers == b.layers && a.vocab == b.vocab &&
         a.digest == b.digest;
}

Fingerprint fingerprint_of(const ModelConfig& config, WeightSource& source) {
  const Family* family = find_family(config.family);
  if (family == nullptr)
    throw Error(ErrorKind::Unsupported, "model family {:?} is not supported", config.family);
  const TensorNames& names = family->names;
  Fnv1a hash;
  hash.add_little_endian(static_cast<std::uint32_t>(config.vocab), 4);
  std::vector<float> values(static_cast<std::size_t>(config.hidden));
  const auto add = [&](const std::string& name) {
    source.open(name, {config.hidden})(0, 1, values.data());
    // As they multiply: GGUF files have them so, and little numbers lose their last bits to the 1 before
    // them.
    for (const float v : values) hash.add_little_endian(to_bf16(v + config.norm_offset).bits, 2);
  };
  add(std::string(names.final_norm));
  for (const int layer : std::set<int>{0, config.layers / 2, config.layers - 1}) {
    const std::string prefix = fmt::format(fmt::runtime(names.layer), layer);
    const bool after = config.layer(layer).norms == NormPlace::After;
    const LayerSpec& spec = config.layer(layer);
    if (spec.mixes()) add(prefix + std::string(after ? names.attention_after_norm : names.attention_norm));
    if (spec.feeds_forward()) add(prefix + std::string(after ? names.mlp_after_norm : names.mlp_norm));
  }
  return {.family = config.family,
          .hidden = config.hidden,
          .layers = config.layers,
          .vocab = config.vocab,
          .digest = fmt::format("{:016x}", hash.value())};
}

Fingerprint fingerprint_of(const Checkpoint& checkpoint) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  StoredWeights source(checkpoint.weights(), config.tied_embeddings);
  return fingerprint_of(config, source);
}

std::string rotation_digest(const ModelConfig& config, std::int64_t context) {
  Fnv1a hash;
  bool follows_context = false;
  for (const LayerSpec& kind : config.kinds) {
    if (!kind.rope.follows_context()) continue;
    follows_context = true;
    const RopeTable table = make_rope_table(kind.rope, config.head_dim, context);
    for (const float f : table.inverse_frequencies) {
      hash.add_little_endian(std::bit_cast<std::uint32_t>(f), 4);
    }
  }
  return follows_context ? fmt::format("{:016x}", hash.value()) : std::string();
}

nlohmann::json to_json(const Fingerprint& fingerprint) {
  return {{"family", fingerprint.family},
          {"hidden", fingerprint.hidden},
          {"layers", fingerprint.layers},
          {"vocab", fingerprint.vocab},
          {"digest", fingerprint.digest}};
}

std::string to_string(const Fingerprint& fingerprint) {
  return fmt::format("a {} of {} layers, {} wide, {} tokens, digest {}", fingerprint.family,
                     fingerprint.layers, fingerprint.hidden, fingerprint.vocab, fingerprint.digest);
}

std::optional<Fingerprint> stated_target(const std::string& file, const nlohmann::json& config) {
  if (!config.is_object()) return std::nullopt;
  const JsonFields fields(config, file);
  const auto stated = fields.find_object(fields.find(kHeadTargetKey) ? kHeadTargetKey : kPartTargetKey);
  if (!stated) return std::nullopt;
  return read_fingerprint(*stated);
}

std::string check_fingerprint(const std::string& file, const nlohmann::json& config,
                              const Fingerprint& target, Strictness strictness) {
  const std::optional<Fingerprint> part = stated_target(file, config);
  if (!part || *part == target) return {};
  const std::string difference = fmt::format("{}: made for another target: {}; this one is {}", file,
                                             to_string(*part), to_string(target));
  if (!acceptable(*part, target, strictness)) throw Error("{}", difference);
  return strictness == Strictness::SameVocabulary ? std::string() : difference;
}

bool fits_fingerprint(const std::string& file, const nlohmann::json& config, const Fingerprint& target,
                      Strictness strictness) {
  const std::optional<Fingerprint> part = stated_target(file, config);
  return !part || acceptable(*part, target, strictness);
}

}  // namespace augur
