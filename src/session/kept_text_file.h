#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "decode/prefix_cache.h"
#include "engine/engine_access.h"
#include "model/kv_cache.h"

namespace augur {

/// What a kept text is made of in an engine: who may write and read its file.
struct KeptTextForm {
  std::string fingerprint;  ///< ModelInfo::fingerprint: model, formats, law, version
  int law = 0;              ///< ModelInfo::law
  std::int32_t vocab = 0;
  KvCache target;  ///< an empty cache of the model
  std::vector<EngineAccess::RowKeeper> drafters;
};

struct KeptText {
  std::vector<TokenId> tokens;
  PrefixCache::Entry entry;  ///< of as many tokens
  std::int64_t bytes = 0;    ///< of the file
};

// A file is: "AUGURTXT"; format, the law's number (KeptTextForm), bytes of the header, of the body,
// hash of both, each a little-endian u64; the header, JSON with fingerprint, tokens, and drafters
// ({"identity", "cached", "waiting", "width", "bytes"}); the body: token ids (i32), the target's pages, then
// of each drafter its cache's pages, the ids of its waiting rows and their features (float32). Slots of the
// last page that are not the text's are zeros.

/// Any thread, as long as nobody else has these caches. Error where it cannot be written. Returns the bytes.
std::int64_t write_kept_text(const std::filesystem::path& path, const KeptTextForm& form,
                             const KeptText& text);

/// Any thread; takes pages from the pools of `form`. Drafters that are not loaded are passed over. Error for
/// a file of another format, law, model or version, a damaged one, or one of more than `most_bytes`.
KeptText read_kept_text(const std::filesystem::path& path, const KeptTextForm& form, std::int64_t most_bytes);

}  // namespace augur
