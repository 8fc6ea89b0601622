#include "vocab/shortlist.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "vocab/cluster_router.h"

namespace augur {
namespace {

class FrequentShortlist final : public Shortlist {
 public:
  FrequentShortlist(std::vector<std::int32_t> order, bool position_aware) : position_aware_(position_aware) {
    order_ = std::move(order);
  }

  void select(std::span<const HeadRow> rows, Selection& out) override {
    out.by_row.clear();
    out.columns = 0;
    const auto most = std::ssize(order_);
    for (const HeadRow& row : rows) {
      const bool falling = position_aware_ && row.step >= 2;
      const std::int64_t size = falling ? std::max<std::int64_t>(most / (row.step + 1), 1) : most;
      out.by_row.push_back(size);
      out.columns = std::max(out.columns, size);
    }
    out.runs.assign(1, {0, (out.columns + PackedMatrix::kPanel - 1) / PackedMatrix::kPanel});
  }

 private:
  bool position_aware_;
};

class ClusterShortlist final : public Shortlist {
 public:
  ClusterShortlist(const HeadWeights& weights, const ClusterPart& part)
      : weights_(weights),
        budget_(part.budget),
        input_(part.input),
        router_(part, weights.matrix->type() == DType::F32 ? DType::F32 : DType::BF16) {
    if (const std::string obstacle = cluster_obstacle(weights, part); !obstacle.empty()) {
      throw Error("{}", obstacle);
    }
    order_by_cluster(part);
    for (std::size_t c = 0; c < part.fc2_bias.size(); ++c) {
      if (part.fc2_bias[c] > kAlwaysScore / 2) always_.push_back(static_cast<std::int32_t>(c));
    }
    inputs_ = RowBuffer(router_.input_form(), activation_stride(part.inputs()), 1);
    if (input_ == RouterInput::Previous) pairs_ = RowBuffer(InputForm::F32, part.inputs(), 1);
  }

  void select(std::span<const HeadRow> rows, Selection& out) override {
    const auto count = static_cast<int>(rows.size());
    router_.ensure(count);
    inputs_.ensure(count);
    if (input_ == RouterInput::Previous) pairs_.ensure(count);
    Backend& backend = weights_.device->host();
    backend.pool.run([&](Team& team) {
      const Range mine = team.split(count);
      for (std::int64_t r = mine.begin; r < mine.end; ++r) load_input(rows[static_cast<std::size_t>(r)], r);
      team.barrier();
      router_.run(team, backend.kernels, count, inputs_.row(0), inputs_.stride());
    });
    mark(rows);
    take_marked(out);
    out.by_row.assign(rows.size(), out.columns);
  }

 private:
  void order_by_cluster(const ClusterPart& part) {
    const auto cluster = [&](std::int32_t entry) {
      return part.cluster_of[static_cast<std::size_t>(weights_.target_id(entry))];
    };
    order_.resize(static_cast<std::size_t>(weights_.usable));
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::int32_t a, std::int32_t b) { return cluster(a) < cluster(b); });
    begins_.assign(static_cast<std::size_t>(part.clusters) + 1, 0);
    for (const std::int32_t entry : order_) ++begins_[static_cast<std::size_t>(cluster(entry)) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  }

  /// What the router reads of a row: [E(x_t); the drafter's state before x_t], or the state as the head
  /// projects it.
  void load_input(const HeadRow& row, std::int64_t r) const {
    const std::int64_t width = weights_.matrix->k();
    if (input_ == RouterInput::State) {
      load_head_row(weights_, row.state, router_.input_form(), inputs_.row(r));
      return;
    }
    float* pair = pairs_.floats(r);
    std::fill_n(pair, 2 * width, 0.0f);
    if (row.token >= 0 && row.token < weights_.embedding->n())
      weights_.device->read_row(*weights_.embedding, row.token, pair);
    if (row.previous != nullptr) std::copy_n(row.previous, width, pair + width);
    convert_row(pair, 2 * width, router_.input_form(), inputs_.row(r));
  }

  /// Marks what the rows' sequences choose, or where the budget is by row the rows. A cluster is worth to a
  /// sequence what its rows expect of it: the sum over them of weight * softmax(scores). Of a single row that
  /// is the order of its scores.
  void mark(std::span<const HeadRow> rows) {
    marked_.assign(static_cast<std::size_t>(router_.clusters()), false);
    worth_.resize(marked_.size());
    shares_.resize(marked_.size());
    if (budget_.by_row) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        mark_best(router_.scores(static_cast<int>(r)), budget_.at(rows[r].step), scratch_, indices_, values_,
                  marked_);
      }
      return;
    }
    for (std::size_t first = 0; first < rows.size();) {
      std::size_t end = first + 1;
      while (end < rows.size() && rows[end].sequence == rows[first].sequence) ++end;
      std::int64_t budget = 0;
      std::fill(worth_.begin(), worth_.end(), 0.0f);
      const bool alone = end - first == 1;  // its own scores will do
      for (std::size_t r = first; r < end; ++r) {
        budget = std::max(budget, budget_.at(rows[r].step));
        if (!alone) add_worth(router_.scores(static_cast<int>(r)), rows[r].weight);
      }
      mark_best(alone ? router_.scores(static_cast<int>(first)) : worth_, budget, scratch_, indices_, values_,
                marked_);
      first = end;
    }
  }

  void add_worth(std::span<const float> scores, float weight) {
    // Clusters that are always taken leave the others their shares.
    std::copy(scores.begin(), scores.end(), shares_.begin());
    for (const std::int32_t c : always_)
      shares_[static_cast<std::size_t>(c)] = -std::numeric_limits<float>::infinity();
    if (always_.size() < shares_.size()) {
      softmax(shares_.data(), std::ssize(shares_), 1.0f, shares_.data());
      for (std::size_t c = 0; c < worth_.size(); ++c) worth_[c] += weight * shares_[c];
    }
    for (const std::int32_t c : always_)
      worth_[static_cast<std::size_t>(c)] = std::numeric_limits<float>::infinity();
  }

  /// The panels that marked clusters lie in, as few runs as they allow.
  void take_marked(Selection& out) const {
    constexpr std::int64_t kPanel = PackedMatrix::kPanel;
    out.runs.clear();
    for (std::size_t c = 0; c < marked_.size(); ++c) {
      if (!marked_[c] || begins_[c] == begins_[c + 1]) continue;
      const std::int64_t first = begins_[c] / kPanel;
      const std::int64_t end = (begins_[c + 1] + kPanel - 1) / kPanel;
      if (!out.runs.empty() && out.runs.back().first + out.runs.back().count >= first) {
        out.runs.back().count = end - out.runs.back().first;
      } else {
        out.runs.push_back({first, end - first});
      }
    }
    // A head over a part of the vocabulary may have nothing of these clusters; a product wants something.
    if (out.runs.empty()) out.runs.push_back({0, 1});
    out.columns = count_panels(out.runs) * kPanel;
    const std::int64_t last = (out.runs.back().first + out.runs.back().count) * kPanel;
    out.columns -= std::max<std::int64_t>(last - std::ssize(order_), 0);
  }

  HeadWeights weights_;
  ClusterBudget budget_;
  RouterInput input_;
  ClusterRouter router_;
  std::vector<std::int64_t> begins_;  ///< by cluster: its first position in order()

  RowBuffer pairs_;   ///< [rows, 2k] float32
  RowBuffer inputs_;  ///< [rows, inputs of the router] as it reads them
  TopKScratch scratch_;
  std::vector<std::int32_t> indices_;
  std::vector<float> values_;
  std::vector<bool> marked_;
  std::vector<std::int32_t> always_;  ///< clusters that every shortlist has
  std::vector<float> worth_;          ///< of a cluster, to a sequence
  std::vector<float> shares_;
};

}  // namespace

std::unique_ptr<Shortlist> make_frequent_shortlist(const HeadWeights& weights, const TokenOrder& order,
                                                   std::int64_t size, bool position_aware) {
  return std::make_unique<FrequentShortlist>(frequent_entries(weights, order, size), position_aware);
}

std::unique_ptr<Shortlist> make_cluster_shortlist(const HeadWeights& weights, const ClusterPart& part) {
  return std::make_unique<ClusterShortlist>(weights, part);
}

std::string cluster_obstacle(const HeadWeights& weights, const ClusterPart& part) {
  if (const std::int64_t width = weights.matrix->k(); part.hidden != width) {
    return fmt::format("{}: hidden: made for a drafter with states of {}, this one has {}", part.file,
                       part.hidden, width);
  }
  if (part.input == RouterInput::Previous && (weights.embedding == nullptr || !weights.gives_previous)) {
    return fmt::format("{}: router_input: previous, which this drafter does not have; train one for 'state'",
                       part.file);
  }
  return {};
}

std::vector<std::int32_t> frequent_entries(const HeadWeights& weights, const TokenOrder& order,
                                           std::int64_t size) {
  TokenId last = 0;
  for (std::int64_t e = 0; e < weights.usable; ++e) last = std::max(last, weights.target_id(e));
  for (const TokenId token : order.tokens) last = std::max(last, token);
  std::vector<std::int32_t> entry_of(static_cast<std::size_t>(last) + 1, -1);
  for (std::int64_t e = 0; e < weights.usable; ++e) {
    entry_of[static_cast<std::size_t>(weights.target_id(e))] = static_cast<std::int32_t>(e);
  }
  std::vector<std::int32_t> entries;
  for (const TokenId token : order.tokens) {
    if (std::ssize(entries) == size) break;
    const std::int32_t entry = entry_of[static_cast<std::size_t>(token)];
    if (entry >= 0) entries.push_back(entry);
  }
  if (entries.empty()) throw Error("{}: lists no token that the drafter has", order.file);
  return entries;
}

}  // namespace augur
