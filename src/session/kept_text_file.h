#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "decode/prefix_cache.h"
#include "engine/engine_access.h"
#include "model/kv_cache.h"

namespace augur {

/// What files of kept texts must match in an engine, and the caches that they are written from and read into.
struct KeptTextForm {
  std::string fingerprint;  ///< ModelInfo::fingerprint: model, formats, law, version
  int law = 0;              ///< ModelInfo::law
  std::int32_t vocab = 0;
  KvCache target;  ///< an empty cache of the model
  std::vector<EngineAccess::RowKeeper> drafters;
};

struct KeptText {
  std::vector<TokenId> tokens;
  PrefixCache::Entry entry;  ///< of tokens.size() tokens
  std::int64_t bytes = 0;    ///< of the file
};

// A file is: "AUGURTXT"; then, as little-endian u64, the format, the law's number (KeptTextForm::law), the
// bytes of the header, the bytes of the body, and a hash of both; the header, JSON with fingerprint, tokens
// and drafters ({"identity", "cached", "waiting", "width", "bytes"}); the body: token ids (i32), the target's
// pages, then for each drafter its cache's pages, the ids of its waiting rows, and their features (float32).
// Slots of the last page that do not belong to the text are zeros.

/// Any thread, as long as no other thread uses these caches. Returns the file's bytes. Throws Error if the
/// file cannot be written.
std::int64_t write_kept_text(const std::filesystem::path& path, const KeptTextForm& form,
                             const KeptText& text);

/// Any thread; takes pages from the pools of `form`. Drafters that are not loaded are skipped. Throws Error
/// for a file of another format, law, model or version, a damaged file, and one of more than `most_bytes`.
KeptText read_kept_text(const std::filesystem::path& path, const KeptTextForm& form, std::int64_t most_bytes);

}  // namespace augur
