#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/folder_tensor.h"

namespace augur {

/// The gated delta rules of a GGUF file as a folder has them: value heads of one key head side by side, the
/// logarithm of decays, and of Qwen3-Next queries, keys, values and gates in one matrix, by key head.
class DeltaFolder {
 public:
  /// Empty: the checkpoint is a folder, or has no such layers. Error naming the file for sizes that do not
  /// fit each other.
  static std::optional<DeltaFolder> of(const Checkpoint& checkpoint);

  /// Appends what becomes of `tensor`, which outlives it; it may be nothing, where another tensor has its
  /// values, too. False: it stays as it is. Error naming the tensor for a shape that is not the
  /// configuration's, and for decays that are none.
  bool lay_out(const StoredTensor& tensor, std::vector<FolderTensor>& to) const;
  /// The configuration without what only files say.
  static void change(nlohmann::json& config);

 private:
  explicit DeltaFolder(const WeightStore& store) : store_(&store) {}

  std::vector<std::int64_t> order(std::int64_t first, std::int64_t width) const;
  FolderTensor together(const StoredTensor& qkv, const std::string& prefix) const;

  const WeightStore* store_;
  bool interleaved_ = false;
  std::int64_t key_heads_ = 0;
  std::int64_t value_heads_ = 0;
  std::int64_t key_dim_ = 0;
  std::int64_t value_dim_ = 0;
  std::int64_t hidden_ = 0;
  std::int64_t taps_ = 0;
};

}  // namespace augur
