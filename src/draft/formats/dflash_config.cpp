#include "draft/formats/dflash_config.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {
namespace {

std::vector<int> read_taps(const HeadLoader& loader, const DflashKeys& keys) {
  constexpr const char* kEntered = "aux_hidden_state_layer_ids";
  constexpr const char* kOutputs = "target_layer_ids";
  if (keys.with(kEntered).find(kEntered) != nullptr) {
    return loader.layer_ids(keys.with(kEntered), kEntered, false);
  }
  const JsonFields& from = keys.with(kOutputs);
  if (from.find(kOutputs) == nullptr) from.fail(kOutputs, "missing");
  return loader.layer_ids(from, kOutputs, true);
}

void require_count(const JsonFields& from, const char* key, std::int64_t found, const std::string& what) {
  const auto stated = from.find_int(key, 1 << 16);
  if (stated && *stated != found) from.fail(key, fmt::format("is {}, {} {}", *stated, what, found));
}

/// Layers that slide are causal inside the block unless told otherwise, others are not.
std::vector<BlockMask> read_masks(const HeadLoader& loader, const DflashKeys& keys) {
  const JsonFields& config = loader.layer_config();
  const int layers = loader.layers().layers;
  std::vector<BlockMask> masks(static_cast<std::size_t>(layers));
  const nlohmann::json* types = config.find("layer_types");
  if (types != nullptr && (!types->is_array() || std::ssize(*types) < layers)) {
    config.fail("layer_types", fmt::format("expected a list of {} layers", layers));
  }
  const bool windows = config.flag("use_sliding_window", true);
  const bool sliding_causal = !keys.flag("sliding_window_non_causal", false);
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const std::string type = types == nullptr ? "full_attention"
                             : (*types)[i].is_string()
                                 ? (*types)[i].get<std::string>()
                                 : (*types)[i].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const bool sliding = type == "sliding_attention";
    if (!sliding && type != "full_attention") {
      config.fail("layer_types",
                  fmt::format("{} is not supported (full_attention, sliding_attention)", type));
    }
    if (sliding && windows) masks[i].window = config.require_int("sliding_window", std::int64_t{1} << 30);
    masks[i].causal = keys.flag("is_causal", sliding && sliding_causal);
  }
  return masks;
}

}  // namespace

DflashKeys::DflashKeys(const JsonFields& config) : places_{config} {
  for (const char* section : {"dflash_config", "dspark_config"}) {
    if (const auto found = config.find_object(section)) places_.push_back(*found);
  }
}

const JsonFields& DflashKeys::with(const char* key) const {
  for (const JsonFields& place : places_) {
    if (place.find(key) != nullptr) return place;
  }
  return places_.front();
}

DflashConfig DflashConfig::read(const HeadLoader& loader, const DflashKeys& keys, bool anchor_predicts) {
  constexpr int kLargestBlock = 1024;
  DflashConfig config;
  config.block = static_cast<int>(keys.with("block_size").require_int("block_size", kLargestBlock));
  config.first_slot = keys.flag("sample_from_anchor", anchor_predicts) ? 0 : 1;
  if (config.depths() < 1) {
    keys.with("block_size").fail("block_size", "a block of the anchor alone predicts nothing");
  }
  require_count(keys.with("num_target_layers"), "num_target_layers", loader.target().layers,
                fmt::format("the layers of {} are", loader.source().target_path));
  require_count(loader.layer_config(), "num_hidden_layers", loader.layers().layers, "the layers stored are");
  config.taps = read_taps(loader, keys);
  config.masks = read_masks(loader, keys);
  const JsonFields& from = keys.with("mask_token_id");
  if (const nlohmann::json* token = from.find("mask_token_id")) {
    if (!token->is_number_unsigned() || *token >= std::uint64_t{1} << 31) {
      from.fail("mask_token_id", "expected a token");
    }
    config.mask_token = token->get<TokenId>();
  }
  return config;
}

}  // namespace augur
