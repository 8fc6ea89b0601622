#include "model/residual_mlp.h"

#include <algorithm>

#include "kernels/ops.h"

namespace augur {
namespace {

bool same_storage(const WeightStore& store, const std::string& a, const std::string& b) {
  for (const char* part : {".weight", ".bias"}) {
    const StoredTensor* first = store.find(a + part);
    const StoredTensor* second = store.find(b + part);
    const bool same = first != nullptr && second != nullptr && first->shape == second->shape &&
                      first->dtype == second->dtype && first->bytes.data() == second->bytes.data();
    if (!same) return false;
  }
  return true;
}

}  // namespace

void ResidualMlp::open(WeightPacker& packer, const WeightStore& store, const Names& names,
                       std::int64_t inputs, std::int64_t hidden) {
  inputs_ = inputs;
  hidden_ = hidden;
  has_entry_ = !names.entry.empty();
  if (has_entry_) {
    entry_.open(packer, names.entry, hidden, inputs, true);
    entry_residual_.open(packer, names.entry_residual, hidden, inputs, true);
  }
  blocks_.reserve(names.blocks.size());  // they must not move
  for (std::size_t i = 0; i < names.blocks.size(); ++i) {
    if (i == 0 || !same_storage(store, names.blocks[i - 1], names.blocks[i])) {
      blocks_.emplace_back().open(packer, names.blocks[i], hidden, hidden, names.block_bias);
    }
    order_.push_back(blocks_.size() - 1);
  }
  state_ = RowBuffer(InputForm::F32, hidden, PackedMatrix::kPanel);
  update_ = RowBuffer(InputForm::F32, hidden, PackedMatrix::kPanel);
  ones_.assign(static_cast<std::size_t>(hidden), 1.0f);
}

void ResidualMlp::add_activated(Range rows) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    silu_mul(update_.floats(r), ones_.data(), hidden_, InputForm::F32, update_.floats(r));
    add_row(state_.floats(r), update_.floats(r), hidden_);
  }
}

void ResidualMlp::run(Backend& backend, const float* inputs, int rows) {
  if (rows == 0) return;
  if (has_entry_) {
    entry_.ensure(rows);
    entry_residual_.ensure(rows);
  }
  for (Linear& block : blocks_) block.ensure(rows);
  state_.ensure(rows);
  update_.ensure(rows);
  const auto given = [&](std::int64_t r) { return inputs + r * inputs_; };
  const auto state = [&](std::int64_t r) { return state_.floats(r); };
  backend.pool.run([&](Team& team) {
    // A thread's own rows: what it adds up is what it converts for the next product.
    const Range mine = team.split(rows);
    if (has_entry_) {
      entry_residual_.apply(team, backend.kernels, rows, given, state_.floats(0), state_.stride());
      entry_.apply(team, backend.kernels, rows, given, update_.floats(0), update_.stride());
      team.barrier();
      add_activated(mine);
    } else {
      for (std::int64_t r = mine.begin; r < mine.end; ++r) std::copy_n(given(r), hidden_, state_.floats(r));
    }
    for (const std::size_t block : order_) {
      blocks_[block].apply(team, backend.kernels, rows, state, update_.floats(0), update_.stride());
      team.barrier();
      add_activated(mine);
    }
  });
}

}  // namespace augur
