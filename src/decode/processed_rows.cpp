#include "decode/processed_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "kernels/ops.h"

namespace augur {
namespace {

void check(std::span<const float> row, std::size_t processor) {
  if (const std::int64_t bad = first_invalid_logit(row.data(), std::ssize(row)); bad >= 0) {
    throw Error(refused("logits_processors"), "logits_processors: number {} makes the logit of token {} {}",
                processor, bad, row[static_cast<std::size_t>(bad)]);
  }
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  if (std::all_of(row.begin(), row.end(), [](float logit) { return logit == kForbidden; })) {
    throw Error(refused("logits_processors"), "logits_processors: number {} forbids every token", processor);
  }
}

}  // namespace

ProcessedRows::ProcessedRows(std::vector<LogitsProcessor> processors) : processors_(std::move(processors)) {
  for (const LogitsProcessor& processor : processors_) {
    if (!processor) throw Error(refused("logits_processors"), "logits_processors: one of them is empty");
  }
}

std::span<const float> ProcessedRows::of(std::int32_t node, std::span<const float> logits,
                                         std::span<const TokenId> tokens) {
  const auto known = std::find(nodes_.begin(), nodes_.end(), node);
  const auto place = static_cast<std::size_t>(known - nodes_.begin());
  if (known != nodes_.end()) return rows_[place];
  if (place == rows_.size()) rows_.emplace_back();
  std::vector<float>& row = rows_[place];
  row.assign(logits.begin(), logits.end());
  for (std::size_t i = 0; i < processors_.size(); ++i) {
    processors_[i](tokens, row);
    check(row, i);
  }
  nodes_.push_back(node);
  return row;
}

}  // namespace augur
