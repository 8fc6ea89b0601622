#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "draft/registry.h"
#include "files/weight_store.h"

namespace augur {

/// The file `stem`.pt or `stem`.safetensors beside the head's config.json, or the checkpoint's own weights.
class HeadFile {
 public:
  HeadFile(const Checkpoint& head, const std::string& stem);
  const WeightStore& store() const { return *store_; }
  /// The checkpoint's own: a whole model that has heads, too.
  bool shared() const { return owned_ == nullptr; }

 private:
  std::unique_ptr<WeightStore> owned_;
  const WeightStore* store_;
};

/// The number under `key`, if there is one. Error unless it is `found`.
void require_stated(const DrafterSource& source, const char* key, std::int64_t found);

/// config.json's `shares_target_head`. Error unless it is true, false or absent.
bool shares_target_head(const DrafterSource& source);

/// Error naming head and target unless `block`.weight and `output`.weight (empty: the target's) have as many
/// rows as the target's hidden size and vocabulary, and the head says that it was made for this target, or
/// does not say.
void require_fit(const DrafterSource& source, const WeightStore& store, const std::string& block,
                 const std::string& output);

}  // namespace augur
