#include "draft/layerskip_drafter.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "draft/child_budget.h"
#include "draft/head_file.h"
#include "draft/registry.h"
#include "io/mapped_file.h"

namespace augur {
namespace {

/// Rows that one round's levels may take of the target's cache.
constexpr std::int64_t kLevelRows = 512;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

LayerSkipDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<LayerSkipDrafter&>(*job.drafter);
}

void check_exit(int layer, const Model& target, const std::string& where) {
  const int layers = target.config().layers;
  if (layer < 1 || layer >= layers) {
    throw Error("{}: exit_layer is {}: expected 1 to {}, the target has {} layers", where, layer, layers - 1,
                layers);
  }
}

}  // namespace

void LayerSkipDrafter::begin_round() {
  txn_.reset();
  tokens_.clear();
  parents_.clear();
  hidden_.clear();
  row_of_node_.clear();
}

std::optional<EarlyRows> LayerSkipDrafter::take_early_rows() {
  if (!txn_) return std::nullopt;
  std::optional<EarlyRows> rows{EarlyRows{.txn = std::move(*txn_),
                                          .layers = exit_,
                                          .tokens = tokens_,
                                          .parents = parents_,
                                          .hidden = hidden_.data()}};
  txn_.reset();
  return rows;
}

/// Adds the node to the forward, after those of its ancestors that have not run. Nothing where the rows are
/// all in use.
void LayerSkipDrafter::add_path(const DraftTree& tree, std::int32_t node) {
  missing_.clear();
  for (std::int32_t n = node; n >= 0 && !has_run(n); n = tree.parents()[at(n)]) missing_.push_back(n);
  if (std::ssize(parents_) + std::ssize(missing_) > txn_->rows()) return;
  for (auto n = missing_.rbegin(); n != missing_.rend(); ++n) {
    const std::int32_t parent = tree.parents()[at(*n)];
    const std::int32_t parent_row = parent < 0 ? -1 : row_of_node_[at(parent)];
    row_of_node_[at(*n)] = static_cast<std::int32_t>(parents_.size());
    parents_.push_back(parent_row);
    tokens_.push_back(tree.tokens()[at(*n)]);
    shared_.tokens.push_back(tree.tokens()[at(*n)]);
    shared_.positions.push_back(static_cast<std::int32_t>(tree.root_position()) + tree.depths()[at(*n)]);
    shared_.parents.push_back(parent_row < 0           ? -1
                              : parent_row >= earlier_ ? first_row_ + parent_row - earlier_
                                                       : -2 - parent_row);
  }
}

void LayerSkipDrafter::add_rows(const ExpandJob& job) {
  first_row_ = static_cast<int>(shared_.tokens.size());
  earlier_ = static_cast<int>(parents_.size());
  rows_ = 0;
  KvCache* cache = job.options.target_cache;
  if (job.frontier.empty() || job.options.max_nodes <= 0 || cache == nullptr) return;
  const bool root = job.frontier.front() == DraftTree::kRoot;
  if (root) {  // possibly anew
    begin_round();
    earlier_ = 0;
  }
  if (!txn_) txn_.emplace(cache->reserve(std::min(cache->room(), kLevelRows)));
  row_of_node_.resize(at(job.tree->size()), -1);
  for (const std::int32_t node : job.frontier) add_path(*job.tree, node);
  rows_ = static_cast<int>(shared_.tokens.size()) - first_row_;
  if (rows_ == 0) return;
  shared_.sequences.push_back({.kv = &*txn_,
                               .first_row = first_row_,
                               .rows = rows_,
                               .earlier_rows = earlier_,
                               .earlier_parents = parents_.data()});
}

void LayerSkipDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                              const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

void LayerSkipDrafter::expand_many(std::span<const ExpandJob> jobs) {
  LayerSkipShared& s = shared_;
  s.tokens.clear();
  s.positions.clear();
  s.parents.clear();
  s.sequences.clear();
  s.head_rows.clear();
  s.nodes.clear();
  for (const ExpandJob& job : jobs) drafter_of(job).add_rows(job);
  if (s.tokens.empty()) return;
  const std::span<const float> results = s.target.forward(
      {.tokens = s.tokens, .positions = s.positions, .parents = s.parents, .sequences = s.sequences},
      {.last_layer = exit_});

  const ModelConfig& config = s.target.config();
  if (s.adapter) s.adapter->run(s.target.backend(), results.data(), static_cast<int>(s.tokens.size()));
  const auto exit_state = [&](int row) {
    return s.adapter ? s.adapter->state(row) : s.target.result_row(row);
  };
  for (const ExpandJob& job : jobs) {
    LayerSkipDrafter& self = drafter_of(job);
    const std::span<const float> mine =
        results.subspan(at(self.first_row_) * at(config.hidden), at(self.rows_) * at(config.hidden));
    self.hidden_.insert(self.hidden_.end(), mine.begin(), mine.end());
    ChildBudget budget(job.options);
    for (const std::int32_t node : job.frontier) {
      const std::int32_t row = at(node) < self.row_of_node_.size() ? self.row_of_node_[at(node)] : -1;
      if (row < self.earlier_ || budget.spent()) continue;
      s.head_rows.push_back({.state = exit_state(self.first_row_ + row - self.earlier_),
                             .token = job.tree->tokens()[at(node)],
                             .step = job.tree->depths()[at(node)],
                             .sequence = static_cast<int>(&job - jobs.data()),
                             .weight = path_weight(*job.tree, node)});
      s.nodes.push_back({job.tree, node, &job.options, budget.take(s.head.size()), {}, {}});
    }
  }
  if (s.nodes.empty()) return;
  const int best = best_wanted(jobs);
  s.head.run(s.head_rows, best);
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    set_logits(s.nodes[i], s.head, i, best);
    if (!s.nodes[i].options->wants.hidden) continue;
    // As the head reads it.
    s.states.resize(s.nodes.size() * at(config.hidden));
    const std::span<float> state = std::span(s.states).subspan(i * at(config.hidden), at(config.hidden));
    s.target.final_norm(s.head_rows[i].state, 1, state.data());
    s.nodes[i].state = state;
  }
  s.chooser.add_children(s.target.backend().pool, s.nodes, s.head.target_ids());
}

namespace {

class LayerSkipModel final : public DrafterModel {
 public:
  LayerSkipModel(std::unique_ptr<LayerSkipShared> shared, const VocabularyChoice* vocabulary)
      : shared_(std::move(shared)), vocabulary_(vocabulary) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    if (settings.exit_layer != 0) check_exit(settings.exit_layer, shared_->target, "layerskip drafter");
    if (shared_->adapter && settings.exit_layer != 0 && settings.exit_layer != shared_->exit_layer) {
      throw Error("layerskip drafter: exit layer {}: the adapter is for layer {}", settings.exit_layer,
                  shared_->exit_layer);
    }
    // This type is always there, and the vocabulary may be meant for another one.
    if (shared_->head.empty()) shared_->head = VocabularyHead(head_of(shared_->target), vocabulary_);
    return std::make_unique<LayerSkipDrafter>(
        *shared_, settings.exit_layer != 0 ? settings.exit_layer : shared_->exit_layer);
  }

 private:
  std::unique_ptr<LayerSkipShared> shared_;
  const VocabularyChoice* vocabulary_;
};

constexpr const char* kAdapterFile = "model.safetensors";

/// adapter.{i}.weight and .bias, as many as are stored.
void load_adapter(const DrafterSource& source, MlpHead& adapter) {
  const WeightStore& store = source.head->weights();
  MlpHead::Names names;
  for (;;) {
    std::string block = fmt::format("adapter.{}", names.blocks.size());
    if (store.find(block + ".weight") == nullptr && !names.blocks.empty()) break;
    names.blocks.push_back(std::move(block));
  }
  require_fit(source, store, names.blocks.front(), {});
  require_stated(source, "adapter_blocks", std::ssize(names.blocks));
  const ModelConfig& target = source.target.config();
  StoredWeights stored(store, false);
  WeightPacker packer(source.target.weight_form(), stored);
  adapter.open(packer, store, names,
               {.inputs = target.hidden, .hidden = target.hidden, .vocab = target.vocab});
  stored.all_opened();
  packer.run(source.backend.pool, source.progress);
}

}  // namespace

std::unique_ptr<DrafterModel> load_layerskip_drafter(const DrafterSource& source) {
  auto shared = std::make_unique<LayerSkipShared>(source.target);
  // Published models exit after a quarter of their layers (8 of 32).
  shared->exit_layer = std::max(1, source.target.config().layers / 4);
  if (source.head != nullptr && source.head->config().contains("exit_layer")) {
    const nlohmann::json& value = source.head->config()["exit_layer"];
    const std::string file = source.head->path().string();
    if (!value.is_number_integer()) throw Error("{}: exit_layer: expected a number of layers", file);
    const auto layer = std::clamp<std::int64_t>(value.get<std::int64_t>(), -1, INT32_MAX);
    check_exit(static_cast<int>(layer), source.target, file);
    shared->exit_layer = static_cast<int>(layer);
    if (file_exists(source.head->path() / kAdapterFile)) load_adapter(source, shared->adapter.emplace());
  }
  return std::make_unique<LayerSkipModel>(std::move(shared), source.vocabulary);
}

}  // namespace augur
