#include "prompt_simulation.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "cost/cost_file.h"
#include "cost/step_times.h"
#include "files/json_reader.h"
#include "policy/auto/choose.h"
#include "support/clocked_round.h"

namespace augur::simulation {
namespace {

using testing_support::candidate_share;
using testing_support::DrawnSequence;

constexpr int kPromptRows = 256;  ///< of a step

class PromptRun;

/// One request.
class Request final : public DrawnSequence {
 public:
  Request(const PromptWorld& world, std::uint64_t seed)
      : DrawnSequence(seed), tokens(world.prompt), world_(world) {}

  std::size_t place() const override { return static_cast<std::size_t>(tokens - world_.prompt); }
  bool reads() const { return read < tokens - 1; }
  bool finished() const { return tokens - world_.prompt >= world_.answer; }

  std::int64_t read = 0;  ///< tokens that the target has run
  std::int64_t tokens;    ///< of prompt and answer, the root included
  std::int64_t drafter_ran = 0;
  double first_ms = 0;
  double ms = 0;

 private:
  double right() const override { return world_.right; }

  const PromptWorld& world_;
};

class PromptDrafter final : public Drafter {
 public:
  PromptDrafter(PromptRun& run, Request& request) : run_(run), request_(request) {}

  std::string_view name() const override;
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  const void* group() const override { return &run_; }
  std::int64_t root_rows() const override { return std::max<std::int64_t>(1, behind()); }
  bool run_chunk() override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  std::int64_t behind() const { return request_.tokens - request_.drafter_ran; }

  PromptRun& run_;
  Request& request_;
};

class PromptRun {
 public:
  PromptRun(const PromptWorld& world, const Prices& prices, const Shape& shape,
            const std::shared_ptr<Chooser>& chooser)
      : world_(world), prices_(prices), costs_(prices.costs), chooser_(chooser), random_(world.seed) {
    for (int i = 0; i < world.sequences; ++i) add(shape);
  }

  Answers run() {
    while (std::any_of(requests_.begin(), requests_.end(), [](const auto& r) { return !r->finished(); }))
      step();
    Answers mean;
    for (const auto& request : requests_) {
      mean.ms = std::max(mean.ms, request->ms);
      mean.first_ms += request->first_ms / world_.sequences;
    }
    mean.drafted = drafted_ / world_.sequences;
    return mean;
  }

  const PromptWorld& world() const { return world_; }
  /// What it took.
  double pass(double ms) {
    const double took = ms * std::exp(world_.noise * std::normal_distribution<double>()(random_));
    round_.clock().pass(took);
    return took;
  }
  const DraftCosts& draft_prices() const { return prices_.costs.drafters().find(world_.drafter)->second; }

 private:
  void add(const Shape& shape) {
    requests_.push_back(std::make_unique<Request>(world_, random_()));
    SequenceDraft& draft = requests_.back()->draft;
    std::unique_ptr<TreePolicy> policy = shape ? shape() : nullptr;
    if (!policy) {
      auto text = std::make_unique<AutoSequence>();
      text->drafters.emplace_back(chooser_->belief(world_.drafter));
      draft.speculation.steering.controller = chooser_;
      draft.speculation.steering.sequence = std::move(text);
    }
    draft.speculation.drafters.push_back(
        {.drafter = std::make_unique<PromptDrafter>(*this, *requests_.back()), .policy = std::move(policy)});
  }

  void step() {
    std::vector<Request*> writing;
    std::int64_t unread = 0;
    int reading = 0;
    for (const auto& request : requests_) reading += !request->finished() && request->reads() ? 1 : 0;
    for (const auto& request : requests_)
      unread += request->finished() ? 0 : request->tokens - 1 - request->read;
    for (const auto& request : requests_) {
      if (request->finished() || request->reads()) continue;
      request->draft.info = {.context = request->tokens - 1,
                             .room = 256,
                             .max_depth = world_.answer - static_cast<int>(request->place()) - 1,
                             .reading = reading,
                             .prompt_rows = static_cast<int>(std::min<std::int64_t>(unread, kPromptRows))};
      writing.push_back(request.get());
    }
    round_.draft<Request>(writing);

    double trees = 0;
    double contexts = 0;
    for (const Request* request : writing) {
      trees += request->draft.tree.size();
      contexts += static_cast<double>(request->draft.tree.size() * request->draft.info.context);
    }
    int left = kPromptRows;
    double prompts = 0;
    double prompt_contexts = 0;
    std::vector<std::pair<Request*, int>> readers;
    for (const auto& request : requests_) {
      const auto rows = static_cast<int>(std::min<std::int64_t>(left, request->tokens - 1 - request->read));
      if (request->finished() || !request->reads() || rows == 0) continue;
      readers.emplace_back(request.get(), rows);
      prompts += rows;
      prompt_contexts += rows * (static_cast<double>(request->read) + rows / 2.0);
      left -= rows;
    }
    StepRows rows{.trees = trees, .prompts = prompts};
    if (trees > 0) rows.tree_context = contexts / trees;
    if (prompts > 0) rows.prompt_context = prompt_contexts / prompts;
    const CostModel& truth = prices_.costs;
    const StepTimes::Measured step{
        .forward_ms = pass(truth.verify_ms(rows.all(), rows.context()) * (1 - prices_.logits_share)),
        .logits_ms = trees > 0 ? pass(truth.verify_ms(trees, rows.tree_context) * prices_.logits_share) : 0,
        .other_ms = pass(truth.other_ms())};
    book(writing, rows, step);
    for (const auto& [request, more] : readers) request->read += more;
  }

  void book(std::span<Request* const> writing, const StepRows& rows, const StepTimes::Measured& step) {
    const double trees_ms = times_.trees_ms(rows, step);
    times_.observe(rows, step);
    round_.observe({.rows = static_cast<std::int32_t>(rows.all()),
                    .trees_ms = trees_ms,
                    .other_ms = step.other_ms,
                    .ms = step.forward_ms + step.logits_ms});
    for (const Request* request : writing) drafted_ += request->draft.drafted;
    for (Request* request : writing) {
      request->tokens += std::ssize(request->path);
      request->read = request->tokens - 1;
      if (request->first_ms == 0) request->first_ms = round_.clock().now_ms();
      if (request->finished()) request->ms = round_.clock().now_ms();
    }
  }

  PromptWorld world_;
  const Prices& prices_;
  CostModel costs_;  ///< as the process knows them
  testing_support::ClockedRound round_{costs_};
  StepTimes times_{costs_};
  std::shared_ptr<Chooser> chooser_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Request>> requests_;
  double drafted_ = 0;
};

std::string_view PromptDrafter::name() const {
  return run_.world().drafter;
}

void PromptDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                           const ExpandOptions& options) {
  const PromptWorld& world = run_.world();
  const double says = world.claimed < 0 ? world.right : world.claimed;
  for (const std::int32_t node : frontier) {
    for (int rank = 0; rank < std::min(options.top_k, DrawnSequence::kCandidates); ++rank) {
      const double probability = std::max(says * candidate_share(rank, says), 1e-6);
      tree.add(node, 1 + rank, static_cast<float>(std::log(probability)), options.proposer);
    }
  }
}

bool PromptDrafter::run_chunk() {
  if (behind() <= kSequenceChunk) return false;
  request_.drafter_ran += kSequenceChunk;
  run_.pass(run_.draft_prices().root().at(kSequenceChunk));
  return true;
}

void PromptDrafter::expand_many(std::span<const ExpandJob> jobs) {
  const DraftCosts& prices = run_.draft_prices();
  const bool root = jobs.front().frontier.front() == DraftTree::kRoot;
  std::int64_t rows = 0;
  for (const ExpandJob& job : jobs) {
    auto& drafter = static_cast<PromptDrafter&>(*job.drafter);
    rows += root ? std::max<std::int64_t>(1, drafter.behind()) : std::ssize(job.frontier);
    if (root) drafter.request_.drafter_ran = drafter.request_.tokens;
    drafter.expand(*job.tree, job.frontier, job.options);
  }
  run_.pass((root ? prices.root() : prices.levels()).at(static_cast<double>(rows)));
}

}  // namespace

Prices measured_prices() {
  const auto path = std::filesystem::path(AUGUR_SOURCE_DIR) / "tests/golden/costs/smollm2_q4_1.json";
  const nlohmann::json file = read_json(path);
  Prices prices;
  read_target_costs(file["target"], path.string(), prices.costs);
  for (const char* drafter : {"draft", "eagle3"})
    read_draft_costs(file["drafters"][drafter], path.string(), prices.costs.drafter(drafter));
  return prices;
}

Answers answer(const PromptWorld& world, const Prices& prices, const Shape& shape) {
  return PromptRun(world, prices, shape, std::make_shared<Chooser>()).run();
}

Answers answer(PromptWorld world, const Prices& prices, const Shape& shape, int seeds) {
  Answers mean;
  for (int i = 0; i < seeds; ++i, ++world.seed) {
    const Answers one = answer(world, prices, shape);
    mean.ms += one.ms / seeds;
    mean.first_ms += one.first_ms / seeds;
    mean.drafted += one.drafted / seeds;
  }
  return mean;
}

Answers answer(const PromptWorld& world, const Prices& prices, const std::shared_ptr<Chooser>& chooser) {
  return PromptRun(world, prices, {}, chooser).run();
}

}  // namespace augur::simulation
