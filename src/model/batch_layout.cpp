#include "model/batch_layout.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "base/index.h"
#include "kernels/attention.h"

namespace augur {

namespace {

void check_rows(const TokenBatch& batch, const ModelConfig& config, std::int64_t context) {
  const auto rows = static_cast<std::size_t>(batch.rows());
  if (rows == 0) throw Error(ErrorKind::Internal, "forward: the batch has no rows");
  if (batch.positions.size() != rows || batch.parents.size() != rows) {
    throw Error(ErrorKind::Internal, "forward: {} tokens, {} positions, {} parents", rows,
                batch.positions.size(), batch.parents.size());
  }
  for (std::size_t r = 0; r < rows; ++r) {
    if (batch.tokens[r] < 0 || batch.tokens[r] >= config.vocab) {
      throw Error(ErrorKind::Internal, "forward: row {}: token {} is outside the vocabulary of {}", r,
                  batch.tokens[r], config.vocab);
    }
    if (batch.positions[r] < 0 || batch.positions[r] >= context) {
      throw Error(ErrorKind::Internal, "forward: row {}: position {} is outside the context of {}", r,
                  batch.positions[r], context);
    }
  }
}

void check_sequence(const TokenBatch& batch, const TokenBatch::Sequence& sequence, int expected_first,
                    const ModelConfig& config, DType kv_type) {
  if (sequence.kv == nullptr || sequence.rows < 1 || sequence.first_row != expected_first ||
      sequence.rows > batch.rows() - expected_first) {
    throw Error(ErrorKind::Internal, "forward: a sequence of rows {} to {} where row {} is next of {}",
                sequence.first_row, sequence.first_row + sequence.rows, expected_first, batch.rows());
  }
  if (sequence.slots != nullptr && sequence.earlier_rows != 0) {
    throw Error(ErrorKind::Internal, "forward: {} rows with slots of their own follow earlier ones",
                sequence.rows);
  }
  if (sequence.earlier_rows < 0 || (sequence.earlier_rows > 0 && sequence.earlier_parents == nullptr) ||
      sequence.kv->rows() - sequence.rows < sequence.earlier_rows) {
    throw Error(ErrorKind::Internal, "forward: {} rows after {} earlier ones, {} are reserved", sequence.rows,
                sequence.earlier_rows, sequence.kv->rows());
  }
  const KvCache::Shape& shape = sequence.kv->cache().shape();
  if (shape.layers != config.layers || shape.kv_heads != config.kv_heads ||
      shape.head_dim != config.head_dim || shape.type != kv_type) {
    throw Error(ErrorKind::Internal, "forward: the cache was made for another model");
  }
}

}  // namespace

void BatchLayout::build(const TokenBatch& batch, const ModelConfig& config, DType kv_type,
                        std::int64_t context, std::span<const BlockMask> block) {
  check_rows(batch, config, context);
  heads_ = config.heads;
  attending_ = config.first_attention();
  states_ = config.recurrent().key_heads > 0;
  reach_ = std::max({0, config.conv().taps - 1, config.recurrent().taps - 1});
  aside_ = 0;
  steps_.clear();
  place_rows_.clear();
  before_.clear();
  max_position_ = *std::max_element(batch.positions.begin(), batch.positions.end());
  max_slots_ = 0;
  sequences_.clear();
  sequence_of_.clear();
  slots_.clear();
  visible_slots_.clear();
  gather_.clear();
  visible_in_.clear();
  for (const TokenBatch::Sequence& sequence : batch.sequences) {
    check_sequence(batch, sequence, static_cast<int>(slots_.size()), config, kv_type);
    add_sequence(batch, sequence);
  }
  if (rows() != batch.rows())
    throw Error(ErrorKind::Internal, "forward: {} rows, the sequences have {}", batch.rows(), rows());
  assert(std::all_of(sequences_.begin(), sequences_.end(), [&](const Sequence& a) {
    return std::count_if(sequences_.begin(), sequences_.end(),
                         [&](const Sequence& b) { return a.cache == b.cache; }) == 1;
  }));

  if (gather_.size() > INT32_MAX) throw Error(ErrorKind::Internal, "forward: the tree is too large");
  if (block.empty()) {
    VisibleByRow& all = clear_visible(0);
    for (const VisibleSlots& seen : visible_slots_) {
      all.contiguous.push_back(seen.contiguous);
      all.gather_begin.push_back(static_cast<std::int32_t>(seen.begin));
    }
    all.gather_begin.push_back(static_cast<std::int32_t>(gather_.size()));
    all.skipped.resize(sequences_.size());
  } else {
    lay_out_block(block, config);
  }

  costs_.assign(1, 0);
  for (Sequence& sequence : sequences_) {
    constexpr std::int64_t kFixedCost = 64;  // of an item, in keys
    sequence.items = attention_items(attention_call(sequence, attending_));
    costs_.push_back(costs_.back() + sequence.items * (sequence.slots + kFixedCost));
  }
}

void BatchLayout::add_sequence(const TokenBatch& batch, const TokenBatch::Sequence& sequence) {
  const std::int64_t base = sequence.kv->base();
  const VisibleSlots prefix{.contiguous = base};
  earlier_.clear();
  earlier_gather_.clear();
  before_earlier_.clear();
  before_prefix_.clear();
  for (std::int64_t i = reach_; i > 0; --i) before_prefix_.push_back(std::max<std::int64_t>(-1, base - i));
  for (int i = 0; i < sequence.earlier_rows; ++i) {
    const std::int32_t parent = sequence.earlier_parents[i];
    if (parent < -1 || parent >= i)
      throw Error(ErrorKind::Internal, "forward: earlier row {}: parent {} does not precede it", i, parent);
    const VisibleSlots from = parent == -1 ? prefix : earlier_[static_cast<std::size_t>(parent)];
    earlier_.push_back(see(base + i, from, earlier_gather_, earlier_gather_));
    add_before(base + parent, parent, before_earlier_, before_earlier_);
  }
  Sequence entry{
      .cache = &sequence.kv->cache(), .first_row = sequence.first_row, .rows = sequence.rows, .base = base};
  for (int row = sequence.first_row; row < sequence.first_row + sequence.rows; ++row) {
    const std::int32_t parent = batch.parents[static_cast<std::size_t>(row)];
    const bool in_batch = parent >= sequence.first_row && parent < row;
    const bool in_earlier = parent <= -2 && parent >= -1 - sequence.earlier_rows;
    if (parent != -1 && !in_batch && !in_earlier) {
      throw Error(ErrorKind::Internal, "forward: row {}: parent {} is no earlier row of its sequence", row,
                  parent);
    }
    const int place = row - sequence.first_row;
    const std::int64_t offset =
        sequence.slots != nullptr ? sequence.slots[place] : sequence.earlier_rows + place;
    if (offset < 0 || offset >= sequence.kv->rows()) {
      throw Error(ErrorKind::Internal, "forward: row {}: slot {} of {} that are reserved", row, offset,
                  sequence.kv->rows());
    }
    const std::int64_t slot = base + offset;
    const VisibleSlots seen =
        in_batch     ? see(slot, visible_slots_[static_cast<std::size_t>(parent)], gather_, gather_)
        : in_earlier ? see(slot, earlier_[static_cast<std::size_t>(-2 - parent)], earlier_gather_, gather_)
                     : see(slot, prefix, gather_, gather_);
    if (in_batch) {
      add_before(slots_[static_cast<std::size_t>(parent)], parent, before_, before_);
    } else {
      add_before(base - 2 - parent, parent == -1 ? -1 : -2 - parent, before_earlier_, before_);
    }
    entry.gathers = entry.gathers || seen.end > seen.begin;
    entry.slots = std::max(entry.slots, slot + 1);
    visible_slots_.push_back(seen);
    slots_.push_back(slot);
    sequence_of_.push_back(static_cast<int>(sequences_.size()));
  }
  max_slots_ = std::max(max_slots_, entry.slots);
  if (states_) add_state_steps(batch, sequence, entry);
  sequences_.push_back(entry);
}

void BatchLayout::add_state_steps(const TokenBatch& batch, const TokenBatch::Sequence& sequence,
                                  Sequence& entry) {
  const KvTxn& kv = *sequence.kv;
  const std::int64_t certain = kv.certain();
  if (certain > 1 && (sequence.earlier_rows > 0 || sequence.slots != nullptr))
    throw Error(ErrorKind::Internal, "forward: {} rows that are certain do not come in their order", certain);
  entry.fold_to = kv.fold_to();
  entry.first_record = kv.first_record();
  entry.rows_by_place = {std::ssize(place_rows_), std::ssize(place_rows_) + kv.rows()};
  place_rows_.resize(at(entry.rows_by_place.end), -1);
  std::vector<StateWalk::Row>& rows = walk_.rows;
  rows.clear();
  for (int i = 0; i < sequence.earlier_rows; ++i) {
    rows.push_back({.parent = sequence.earlier_parents[i], .step = {StateStep::Replay, entry.base + i}});
  }
  for (int row = entry.first_row; row < entry.first_row + entry.rows; ++row) {
    const std::int32_t parent = batch.parents[at(row)];
    const std::int64_t place = slots_[at(row)] - entry.base;
    place_rows_[at(entry.rows_by_place.begin + place)] = row;
    // -2 - parent: the place of an earlier row, or -1, as TokenBatch has it.
    rows.push_back({.parent = parent >= 0 ? parent - entry.first_row + sequence.earlier_rows : -2 - parent,
                    .step = {StateStep::Run, row},
                    .folds = certain > 1 && place == certain - 2});
    // What follows the committed text and is not certain would not see what is folded.
    const std::int64_t after = parent >= 0 ? slots_[at(parent)] - entry.base : -2 - parent;
    if (after < certain - 1 && after != place - 1)
      throw Error(ErrorKind::Internal, "forward: row {} is beside one that is certain to be kept", row);
  }
  const std::int64_t first = std::ssize(steps_);
  aside_ = std::max(aside_, walk_.walk(steps_));
  entry.steps = {first, std::ssize(steps_)};
}

int BatchLayout::row_in(const Sequence& sequence, std::int64_t slot) const {
  const std::int64_t place = slot - sequence.base;
  return place < 0 || place >= sequence.rows_by_place.size()
             ? -1
             : place_rows_[at(sequence.rows_by_place.begin + place)];
}

BatchLayout::VisibleSlots BatchLayout::see(std::int64_t slot, const VisibleSlots& parent,
                                           const std::vector<std::int32_t>& parent_list,
                                           std::vector<std::int32_t>& list) {
  if (parent.begin == parent.end && parent.contiguous == slot) {
    return {.contiguous = slot + 1, .begin = list.size(), .end = list.size()};
  }
  VisibleSlots seen{.contiguous = parent.contiguous, .begin = list.size()};
  for (std::size_t i = parent.begin; i < parent.end; ++i) list.push_back(parent_list[i]);
  list.push_back(static_cast<std::int32_t>(slot));
  seen.end = list.size();
  return seen;
}

void BatchLayout::add_before(std::int64_t slot, std::int64_t parent, const std::vector<std::int64_t>& parents,
                             std::vector<std::int64_t>& list) const {
  if (parent < 0) {
    list.insert(list.end(), before_prefix_.begin(), before_prefix_.end());
    return;
  }
  if (reach_ == 0) return;
  for (std::int64_t i = 1; i < reach_; ++i)
    list.push_back(parents[static_cast<std::size_t>(parent * reach_ + i)]);
  list.push_back(slot);
}

BatchLayout::VisibleByRow& BatchLayout::clear_visible(std::size_t index) {
  if (visible_by_row_.size() <= index) visible_by_row_.resize(index + 1);
  VisibleByRow& visible = visible_by_row_[index];
  visible.contiguous.clear();
  visible.gather_begin.clear();
  visible.gather.clear();
  visible.skipped.clear();
  return visible;
}

/// Layers that see the same share a VisibleByRow.
void BatchLayout::lay_out_block(std::span<const BlockMask> block, const ModelConfig& config) {
  if (std::ssize(block) != config.layers) {
    throw Error(ErrorKind::Internal, "forward: what a block sees was given for {} layers of {}", block.size(),
                config.layers);
  }
  for (int r = 0; r < rows(); ++r) {
    const VisibleSlots& seen = visible_slots_[static_cast<std::size_t>(r)];
    if (seen.begin != seen.end || seen.contiguous != slot(r) + 1) {
      throw Error(ErrorKind::Internal, "forward: row {} of a block does not follow the row before", r);
    }
  }
  std::size_t used = 0;
  for (const BlockMask& mask : block) {
    if (mask.window < 0) throw Error(ErrorKind::Internal, "forward: a window of {}", mask.window);
    std::size_t index = 0;
    while (index < used && (visible_by_row_[index].of.window != mask.window ||
                            visible_by_row_[index].of.causal != mask.causal)) {
      ++index;
    }
    if (index == used) see_block(mask, clear_visible(used++));
    visible_in_.push_back(index);
  }
  for (Sequence& sequence : sequences_) sequence.gathers = true;
}

void BatchLayout::see_block(const BlockMask& mask, VisibleByRow& out) const {
  out.of = mask;
  for (const Sequence& sequence : sequences_) {
    const auto begin = [&](std::int64_t slot) {
      return mask.window == 0 ? 0 : std::max<std::int64_t>(0, slot - mask.window + 1);
    };
    const std::int64_t skipped =
        begin(sequence.base) / kKvPageSlots * kKvPageSlots;  // caches are cut between pages
    out.skipped.push_back(skipped);
    for (std::int64_t slot = sequence.base; slot < sequence.base + sequence.rows; ++slot) {
      const std::int64_t end = mask.causal ? slot + 1 : sequence.base + sequence.rows;
      const bool all = begin(slot) == skipped;
      out.contiguous.push_back(all ? end - skipped : 0);
      out.gather_begin.push_back(static_cast<std::int32_t>(out.gather.size()));
      for (std::int64_t seen = begin(slot); !all && seen < end; ++seen) {
        out.gather.push_back(static_cast<std::int32_t>(seen - skipped));
      }
    }
  }
  if (out.gather.size() > INT32_MAX) throw Error(ErrorKind::Internal, "forward: the blocks are too large");
  out.gather_begin.push_back(static_cast<std::int32_t>(out.gather.size()));
}

AttentionCall BatchLayout::attention_call(const Sequence& sequence, int layer) const {
  const auto first = static_cast<std::size_t>(sequence.first_row);
  const VisibleByRow& visible =
      visible_by_row_[visible_in_.empty() ? 0 : visible_in_[static_cast<std::size_t>(layer)]];
  AttentionCall call;
  call.kv = from_slot(sequence.cache->layer(layer),
                      visible.skipped[static_cast<std::size_t>(&sequence - sequences_.data())]);
  call.rows = sequence.rows;
  call.heads = heads_;
  call.contiguous = visible.contiguous.data() + first;
  call.gather = visible_in_.empty() ? gather_.data() : visible.gather.data();
  call.gather_begin = sequence.gathers ? visible.gather_begin.data() + first : nullptr;
  return call;
}

Range BatchLayout::attention_share(std::size_t index, int rank, int size) const {
  const Sequence& sequence = sequences_[index];
  const std::int64_t unit = (costs_[index + 1] - costs_[index]) / sequence.items;
  const auto boundary = [&](int r) {  // first item of rank r's share
    const std::int64_t target = costs_.back() / size * r + costs_.back() % size * r / size - costs_[index];
    return std::clamp<std::int64_t>((target + unit / 2) / unit, 0, sequence.items);
  };
  return {boundary(rank), rank + 1 == size ? sequence.items : boundary(rank + 1)};
}

}  // namespace augur
