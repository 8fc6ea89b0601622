#include "model/prefill.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace augur {

std::span<const float> prefill(Model& model, std::span<const TokenId> tokens, KvCache& cache,
                               const PrefillOptions& options) {
  const auto total = static_cast<std::int64_t>(tokens.size());
  if (total == 0) throw Error(ErrorKind::Internal, "prefill: no tokens");
  if (options.chunk < 1) throw Error(ErrorKind::Internal, "prefill: chunks of {} rows", options.chunk);
  if (total > cache.room()) {
    throw Error(ErrorKind::ContextFull,
                "the context of {} tokens is full: {} are in it and {} more were asked for", cache.capacity(),
                cache.length(), total);
  }
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;
  std::span<const float> last;
  for (std::int64_t first = 0; first < total; first += options.chunk) {
    const auto rows = static_cast<int>(std::min<std::int64_t>(options.chunk, total - first));
    positions.resize(static_cast<std::size_t>(rows));
    parents.resize(static_cast<std::size_t>(rows));
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(cache.length()));
    std::iota(parents.begin(), parents.end(), -1);
    KvTxn txn = cache.reserve(rows, rows);
    const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = rows};
    model.forward({.tokens = tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
                   .positions = positions,
                   .parents = parents,
                   .sequences = {&sequence, 1}},
                  options.forward);
    const std::span<const float> hidden = model.result();
    txn.commit_all();
    if (options.rows_done) options.rows_done(first, hidden);
    last = hidden.last(static_cast<std::size_t>(model.config().hidden));
    if (options.progress && !options.progress(first + rows, total) && first + rows < total) return {};
  }
  return last;
}

}  // namespace augur
