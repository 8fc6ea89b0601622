#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "draft/registry.h"
#include "files/json_fields.h"
#include "model/config.h"
#include "model/layer_stack.h"
#include "model/weight_packer.h"

namespace augur {

/// Reads a draft head's folder against the target that it is to serve: its configuration, in the layouts of
/// the papers' own code and of speculators and vLLM, and its tensors. Errors name the file and the field or
/// tensor, and where head and target do not fit, both and the numbers.
class HeadLoader {
 public:
  /// `layer_prefixes`: where its decoder layers are stored; at least one.
  HeadLoader(const DrafterSource& source, std::vector<std::string> layer_prefixes);

  const DrafterSource& source() const { return source_; }
  const ModelConfig& target() const { return source_.target.config(); }
  const std::string& file() const { return file_; }
  /// config.json, and the part of it that describes the decoder layers (`transformer_layer_config`, or all).
  const JsonFields& config() const { return config_; }
  const JsonFields& layer_config() const { return layer_fields_; }
  /// Of the decoder layers: its vocab is the target's, its biases are as stored.
  const ModelConfig& layers() const { return layers_; }

  bool has(std::string_view tensor) const { return store_.find(tensor) != nullptr; }
  /// The shape's first number, of a matrix that must be there.
  std::int64_t rows_of(const std::string& matrix) const;
  /// The values of a vector that must be there.
  std::int64_t length_of(const std::string& vector) const;
  /// Ids of the target's layers under `key`, as ids of layers *entered*; the file has those or, `outputs`,
  /// ids of layers whose outputs are meant (one less). Error for a layer that the target does not have.
  std::vector<int> layer_ids(const JsonFields& from, const char* key, bool outputs) const;
  /// The numbers that must agree. Error naming head and target.
  void require_hidden(std::int64_t hidden, const char* field) const;

  WeightPacker& packer() { return packer_; }
  void vector(std::vector<float>& out, const std::string& name, std::int64_t n) {
    packer_.vector(out, name, n);
  }
  /// The weights of a norm like those of the decoder layers.
  void norm(std::vector<float>& out, const std::string& name, std::int64_t n) {
    packer_.norm(out, name, n, layers_.norm_offset);
  }
  /// All values of a tensor whose first dimension is 1.
  void tensor(std::vector<float>& out, const std::string& name, const Shape& shape);
  void matrix(PackedMatrix& out, const std::string& name, std::int64_t n, std::int64_t k);
  /// A tensor that may be there and is not needed.
  void pass_over(const std::string& name) { stored_.pass_over(name); }
  /// Tensors that may be there: all whose names don't begin with `prefix`, of those that begin with `among`.
  void pass_over_all_but(std::string_view prefix, std::string_view among = {});

  /// `d2t` as target ids, one for each of `entries`; empty where both vocabularies are the same.
  std::vector<TokenId> target_ids(std::int64_t entries);

  /// Asks for all decoder layers; the first one has a form of its own.
  void open_layers(const LayerForm& first = {});

  /// Error for tensors nobody asked for; packs the others. The layers come as a stack.
  std::unique_ptr<LayerStack> finish();

 private:
  const DrafterSource& source_;
  const WeightStore& store_;
  std::string file_;
  nlohmann::json json_;
  nlohmann::json layer_json_;
  JsonFields config_;
  JsonFields layer_fields_;
  StoredWeights stored_;
  std::vector<std::string> prefixes_;
  WeightPacker packer_;
  ModelConfig layers_;
  std::vector<LayerWeights> weights_;
};

/// {"layers.0.", "layers.1.", ...} with `first` in place of the first, as many as `store` has.
std::vector<std::string> stored_layers(const WeightStore& store, const std::string& first);

}  // namespace augur
