#include "draft/layerskip_drafter.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "draft/formats/head_file.h"
#include "draft/registry.h"
#include "files/mapped_file.h"

namespace augur {
namespace {

/// Rows that one round's levels may take of the target's cache.
constexpr std::int64_t kLevelRows = 512;

LayerSkipDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<LayerSkipDrafter&>(*job.drafter);
}

void check_exit(int layer, const Model& target, const std::string& where) {
  const int layers = target.config().layers;
  if (layer < 1 || layer >= layers) {
    throw Error(refused("exit_layer"), "{}: exit_layer is {}: expected 1 to {}, the target has {} layers",
                where, layer, layers - 1, layers);
  }
}

}  // namespace

LayerSkipDrafter::LayerSkipDrafter(LayerSkipShared& shared, int exit_layer)
    : shared_(shared), exit_(exit_layer), tree_(kLevelRows) {}

void LayerSkipDrafter::end_round() {
  // What a caller has taken along by take_early_rows() stays where it is until the next round's first rows.
  tree_.roll_back();
}

std::optional<EarlyRows> LayerSkipDrafter::take_early_rows() {
  std::optional<KvTxn> txn = tree_.take_transaction();
  if (!txn) return std::nullopt;
  return EarlyRows{.txn = std::move(*txn),
                   .layers = exit_,
                   .tokens = tree_.tokens(),
                   .parents = tree_.parents(),
                   .hidden = hidden_.data()};
}

void LayerSkipDrafter::add_rows(const ExpandJob& job, std::size_t index) {
  LayerSkipShared& s = shared_;
  KvCache* cache = job.options.target_cache;
  if (job.frontier.empty() || job.options.max_nodes <= 0 || cache == nullptr) return;
  if (job.frontier.front() == DraftTree::kRoot) {  // possibly anew
    tree_.clear();
    hidden_.clear();
  }
  first_row_ = s.batch.rows();
  rows_ = tree_.add_level(*cache, *job.tree, job.frontier, s.batch);
  for (const std::int32_t node : job.frontier) {
    if (const int row = tree_.batch_row(node); row >= 0) s.candidates.want(index, node, row);
  }
}

void LayerSkipDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                              const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

void LayerSkipDrafter::expand_many(std::span<const ExpandJob> jobs) {
  LayerSkipShared& s = shared_;
  s.batch.clear();
  s.candidates.begin(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    drafter_of(jobs[i]).rows_ = 0;
    drafter_of(jobs[i]).add_rows(jobs[i], i);
  }
  if (s.batch.empty()) return;
  s.target.forward(s.batch.view(), {.last_layer = exit_});
  const float* results = s.target.result().data();
  const std::int64_t width = s.target.config().hidden;
  for (const ExpandJob& job : jobs) {
    LayerSkipDrafter& self = drafter_of(job);
    const float* mine = results + self.first_row_ * width;
    self.hidden_.insert(self.hidden_.end(), mine, mine + self.rows_ * width);
  }
  if (s.adapter) s.adapter->run(s.target.backend(), results, s.batch.rows());
  s.states.resize(s.candidates.size() * at(width));
  for (std::size_t i = 0; i < s.candidates.size(); ++i) {
    const int row = s.candidates.rows()[i];
    const float* state = s.adapter ? s.adapter->state(row) : s.target.result_row(row);
    s.candidates.head_rows()[i].state = state;
    if (!s.candidates.wants_state(i)) continue;
    const std::span<float> normed = std::span(s.states).subspan(i * at(width), at(width));
    s.target.final_norm(state, 1, normed.data());  // as the head reads it
    s.candidates.set_state(i, normed);
  }
  s.candidates.add_children(s.head);
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
  void forget_learnt() override { shared_->head.forget(); }

 private:
  std::unique_ptr<LayerSkipShared> shared_;
  const VocabularyChoice* vocabulary_;
};

constexpr const char* kAdapterFile = "model.safetensors";

/// adapter.{i}.weight and .bias, as many as are stored.
void load_adapter(const DrafterSource& source, ResidualMlp& adapter) {
  const WeightStore& store = source.head->weights();
  ResidualMlp::Names names;
  for (;;) {
    std::string block = fmt::format("adapter.{}", names.blocks.size());
    if (store.find(block + ".weight") == nullptr && !names.blocks.empty()) break;
    names.blocks.push_back(std::move(block));
  }
  require_fit(source, store, names.blocks.front(), {});
  require_stated(source, "adapter_blocks", std::ssize(names.blocks));
  const ModelConfig& target = source.target.config();
  StoredWeights stored(store, false);
  WeightPacker packer(source.weights(), stored);
  adapter.open(packer, store, names, target.hidden, target.hidden);
  stored.all_opened();
  packer.run(source.backend, source.progress);
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
