#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/elementary.h"
#include "base/index.h"
#include "draft/common/copy_odds.h"
#include "draft/common/owners_memory.h"
#include "draft/registry.h"

namespace augur {
namespace {

constexpr int kSuccessors = 8;  ///< of a token, as in the paper

/// What the target held likeliest after a token, where it saw the token last: the paper's adjacency matrix,
/// of the tokens that it has seen.
class SuccessorTable {
 public:
  struct Row {
    std::array<TokenId, kSuccessors> tokens;
    std::array<float, kSuccessors> log_probs;
    int count = 0;
  };

  explicit SuccessorTable(std::int64_t vocabulary) : vocabulary_(static_cast<std::size_t>(vocabulary)) {}

  /// Null: nothing is known of it.
  const Row* find(TokenId token) const {
    if (places_.empty()) return nullptr;
    const std::int32_t place = places_[at(token)];
    return place < 0 ? nullptr : &rows_[at(place)];
  }
  /// The token's row, to be written; null where there is room for none. When the table is full, the row that
  /// has been there longest makes way.
  Row* take(TokenId token) {
    if (most_rows_ == 0) return nullptr;
    if (places_.empty()) places_.assign(vocabulary_, -1);
    std::int32_t& place = places_[at(token)];
    if (place < 0) place = make_place(token);
    return &rows_[at(place)];
  }

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(places_.capacity() * sizeof(std::int32_t) +
                                     rows_.capacity() * sizeof(Row) + owners_.capacity() * sizeof(TokenId));
  }
  void limit_bytes(std::int64_t bytes) {
    const auto index = static_cast<std::int64_t>(vocabulary_ * sizeof(std::int32_t));
    // Vectors double.
    const std::int64_t rows =
        (bytes - index) / static_cast<std::int64_t>(2 * (sizeof(Row) + sizeof(TokenId)));
    most_rows_ =
        static_cast<std::size_t>(std::clamp<std::int64_t>(rows, 0, static_cast<std::int64_t>(vocabulary_)));
    if (rows_.size() > most_rows_) release();
  }
  void clear() {
    std::fill(places_.begin(), places_.end(), -1);
    rows_.clear();
    owners_.clear();
    oldest_ = 0;
  }
  void release() {
    // Not = {}, which keeps the memory.
    places_ = std::vector<std::int32_t>();
    rows_ = std::vector<Row>();
    owners_ = std::vector<TokenId>();
    oldest_ = 0;
  }

 private:
  std::int32_t make_place(TokenId token) {
    if (rows_.size() < most_rows_) {
      rows_.emplace_back();
      owners_.push_back(token);
      return static_cast<std::int32_t>(rows_.size() - 1);
    }
    oldest_ %= rows_.size();
    places_[at(owners_[oldest_])] = -1;
    owners_[oldest_] = token;
    return static_cast<std::int32_t>(oldest_++);
  }

  std::size_t vocabulary_;
  std::size_t most_rows_ = 0;
  std::vector<std::int32_t> places_;  ///< by token, -1: none; empty: nothing was ever written
  std::vector<Row> rows_;
  std::vector<TokenId> owners_;  ///< whose a row is
  std::size_t oldest_ = 0;       ///< of a full table
};

/// Token recycling (Luo et al., 2024): proposes after a token what the target held likeliest after it where
/// it was last verified, accepted or not. The target's candidates that verification throws away become the
/// next drafts. Cheap to draft (a look-up a node), so it lives from broad trees. The paper's tree is fixed;
/// here a policy's.
class RecyclingDrafter final : public Drafter {
 public:
  /// Learns into `own`. Where that knows nothing of a token, `left` is asked: what others have left, for a
  /// text that leaves nothing; null: there is nothing else.
  RecyclingDrafter(std::shared_ptr<SuccessorTable> own, std::shared_ptr<const SuccessorTable> left,
                   bool prompts)
      : own_(std::move(own)), left_(std::move(left)), prompts_(prompts) {}

  std::string_view name() const override { return "recycling"; }
  DrafterTraits traits() const override {
    return {.has_probabilities = false, .learns = true, .learns_across_sequences = true};
  }
  std::optional<TargetWants> target_wants() const override {
    return TargetWants{.top_k = kSuccessors, .prompts = prompts_};
  }

  void reset() override {}
  void sync(const AcceptedRows&) override {}

  void saw(const TargetRows& rows) override {
    for (std::size_t i = 0; i < rows.tokens.size(); ++i) learn(rows, i);
  }

  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    int left = options.max_nodes;
    for (const std::int32_t node : frontier) {
      const SuccessorTable::Row* const row = find(tree.tokens()[at(node)]);
      if (row == nullptr) continue;
      const int children = std::min({row->count, options.top_k, left});
      left -= children;
      for (int i = 0; i < children; ++i) {
        tree.add(node, row->tokens[at(i)], row->log_probs[at(i)], options.proposer);
      }
    }
  }

 private:
  const SuccessorTable::Row* find(TokenId token) const {
    const SuccessorTable::Row* const row = own_->find(token);
    return row == nullptr && left_ != nullptr ? left_->find(token) : row;
  }

  void learn(const TargetRows& rows, std::size_t i) {
    SuccessorTable::Row* const row = own_->take(rows.tokens[i]);
    if (row == nullptr) return;
    row->count = std::min(rows.top_k, kSuccessors);
    const auto count = static_cast<std::size_t>(row->count);
    const auto first = i * static_cast<std::size_t>(rows.top_k);
    const std::span<const float> logits(rows.top_logits + first, count);
    double sum = 0;  // over the successors alone
    for (const float logit : logits) sum += elementary::exp(static_cast<double>(logit) - logits[0]);
    const double shift = elementary::log(kStillRight) - elementary::log(sum) - logits[0];
    std::copy_n(rows.top_tokens + first, count, row->tokens.begin());
    for (std::size_t k = 0; k < count; ++k) row->log_probs[k] = static_cast<float>(logits[k] + shift);
  }

  std::shared_ptr<SuccessorTable> own_;
  std::shared_ptr<const SuccessorTable> left_;
  bool prompts_;
};

class RecyclingModel final : public DrafterModel {
 public:
  explicit RecyclingModel(std::int64_t vocabulary)
      : vocabulary_(vocabulary),
        tables_([vocabulary] { return std::make_shared<SuccessorTable>(vocabulary); }, kUsualBytes) {}

  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    const bool prompts = settings.own.flag("prompts", false);
    std::shared_ptr<SuccessorTable> shared = tables_.of(settings.owner);
    if (settings.keep_output) return std::make_unique<RecyclingDrafter>(std::move(shared), nullptr, prompts);
    auto own = std::make_shared<SuccessorTable>(vocabulary_);
    own->limit_bytes(kUsualBytes);
    return std::make_unique<RecyclingDrafter>(std::move(own), std::move(shared), prompts);
  }
  void forget_learnt() override { tables_.clear(); }
  std::int64_t learnt_bytes() const override { return tables_.bytes(); }
  void limit_learnt(std::int64_t bytes) override { tables_.limit(bytes); }
  bool drop_learnt() override { return tables_.drop_oldest(); }

 private:
  static constexpr std::int64_t kUsualBytes = std::int64_t{1} << 26;  ///< of all owners
  std::int64_t vocabulary_;
  mutable OwnersMemory<SuccessorTable> tables_;
};

}  // namespace

std::unique_ptr<DrafterModel> load_recycling_drafter(const DrafterSource& source) {
  return std::make_unique<RecyclingModel>(source.target.config().vocab);
}

}  // namespace augur
