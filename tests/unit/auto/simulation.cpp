#include "simulation.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/calm_times.h"
#include "policy/chain_policy.h"

namespace augur::simulation {

using testing_support::candidate_share;
using testing_support::DrawnSequence;

double World::chain_rate(int length) const {
  double tokens = 1;
  for (int i = 1; i <= length; ++i) tokens += std::pow(right, i);
  return tokens / (verify_ms(1 + length) + length * draft_ms + catch_up_ms * (tokens - 1));
}

double World::best_chain_rate() const {
  double best = 1 / step_ms;
  for (int length = 1; length <= 24; ++length) best = std::max(best, chain_rate(length));
  return best;
}

double World::woken(double rows) const {
  const double missed = std::pow(1 - experts->active / experts->pool, rows);
  return std::max<double>(experts->active, experts->pool * (1 - missed));
}

double World::best_tree_rate() const {
  constexpr int kMostDepth = 24;
  double best = 1 / step_ms;
  for (int depth = 1; depth <= kMostDepth; ++depth) {
    std::vector<double> chances;
    const auto grow = [&](auto&& self, double chance, int at) -> void {
      for (int rank = 0; at <= depth && rank < DrawnSequence::kCandidates; ++rank) {
        const double child = chance * right * candidate_share(rank, right);
        if (child < 0.004) break;
        chances.push_back(child);
        self(self, child, at + 1);
      }
    };
    grow(grow, 1, 1);
    std::sort(chances.begin(), chances.end(), std::greater<>());
    double tokens = 1;
    for (std::size_t n = 0; n < std::min<std::size_t>(chances.size(), 255); ++n) {
      tokens += chances[n];
      best = std::max(best, tokens / (verify_ms(2.0 + static_cast<double>(n)) + depth * draft_ms));
    }
  }
  return best;
}

double World::others_best_chain_rate() const {
  World alone = *this;
  alone.draft_ms = other->draft_ms;
  alone.right = other->right;
  alone.catch_up_ms = 0;
  return alone.best_chain_rate();
}

double World::best_batch_rate() const {
  const auto roots = static_cast<double>(batch.size());
  double best = roots / verify_ms(roots);
  for (int depth = 1; depth <= 16; ++depth) {
    for (double least = 0.01; least < 1; least *= 1.03) {
      double tokens = roots;
      double nodes = 0;
      int deepest = 0;
      for (const double a : batch) {
        double chance = a;
        for (int d = 1; d <= depth && chance >= least; ++d, chance *= a) {
          tokens += chance;
          ++nodes;
          deepest = std::max(deepest, d);
        }
      }
      best = std::max(best, tokens / (verify_ms(roots + nodes) + deepest * draft_ms));
    }
  }
  return best;
}

/// One sequence.
class Text final : public DrawnSequence {
 public:
  Text(const World& world, double its_own, std::uint64_t seed)
      : DrawnSequence(seed), own(its_own), world_(world), coins_(seed + 1000), position_(1 + world.prompt) {}

  bool other_is_right(std::size_t place) {
    while (others_luck_.size() <= place) {
      others_luck_.push_back(std::bernoulli_distribution(world_.other->right)(coins_));
    }
    return others_luck_[place];
  }
  /// Whether a drafter that learns has something to say behind a node of that depth.
  bool speaks(int depth) {
    if (world_.learns <= 0) return true;
    const std::size_t where = place() + static_cast<std::size_t>(depth);
    while (voices_.size() <= where) voices_.push_back(std::uniform_real_distribution<double>()(coins_));
    return voices_[where] < 1 - std::exp(-static_cast<double>(place()) / world_.learns);
  }
  std::size_t place() const override { return static_cast<std::size_t>(position_ - 1 - world_.prompt); }
  std::int64_t position() const { return position_; }
  void advance(std::int64_t tokens) { position_ += tokens; }
  double right() const override { return own < 0 ? world_.right : own; }

  double own;  ///< how often the drafter is right here; < 0: as in the world
  double verified = 0;
  double rounds = 0;

 private:
  int candidates() const override { return world_.siblings ? kCandidates : 1; }

  const World& world_;
  std::mt19937_64 coins_;  ///< of the other drafter
  std::int64_t position_;
  std::vector<bool> others_luck_;
  std::vector<double> voices_;
};

class FakeDrafter final : public Drafter {
 public:
  FakeDrafter(Simulation& simulation, Text& text, const char* name, bool other)
      : simulation_(simulation), text_(text), name_(name), other_(other) {}

  std::string_view name() const override { return name_; }
  DrafterTraits traits() const override {
    return {.one_shot = !other_ && world().one_shot,
            .has_probabilities = !other_ || !world().other->lookup,
            .learns = !other_ && world().learns > 0};
  }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  const void* group() const override { return name_; }
  std::int64_t root_rows() const override {
    return std::max<std::int64_t>(1, text_.position() - drafted_to_);
  }
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    for (const std::int32_t node : frontier) add_children(tree, node, options);
  }
  void expand_many(std::span<const ExpandJob> jobs) override {
    const int level = jobs.front().tree->depths()[static_cast<std::size_t>(jobs.front().frontier.front())];
    double rows = level == 0 ? 1 : 0;
    for (const ExpandJob& job : jobs) {
      auto& drafter = static_cast<FakeDrafter&>(*job.drafter);
      if (level == 0) rows += static_cast<double>(drafter.text_.position() - drafter.drafted_to_) - 1;
      if (level > 0) rows += static_cast<double>(job.frontier.size());
      drafter.drafted_to_ = drafter.text_.position();
      job.drafter->expand(*job.tree, job.frontier, job.options);
    }
    simulation_.round_.clock().pass(simulation_.disturbed(simulation_.level_ms(other_, level, rows)));
  }

 private:
  const World& world() const { return simulation_.world_; }

  void add_children(DraftTree& tree, std::int32_t node, const ExpandOptions& options) {
    constexpr TokenId kWrong = 100;
    if (other_) {
      const auto depth = static_cast<std::size_t>(tree.depths()[static_cast<std::size_t>(node)]);
      const std::size_t next = text_.place() + depth;
      const TokenId token = text_.other_is_right(next) ? text_.at(next) : kWrong;
      tree.add(node, token, static_cast<float>(std::log(world().other->says())), options.proposer);
      return;
    }
    if (!text_.speaks(tree.depths()[static_cast<std::size_t>(node)])) return;
    const double says = text_.own < 0 ? world().says() : text_.own;
    if (world().one_shot) {
      for (int i = 0; i < std::min(options.top_k, World::kBranch); ++i) {
        node = tree.add(node, 1, static_cast<float>(std::log(says)), options.proposer);
      }
      return;
    }
    const int children = world().siblings ? options.top_k : 1;
    for (int c = 0; c < children; ++c) {
      tree.add(node, 1 + c, static_cast<float>(std::log(says * candidate_share(c, text_.right()))),
               options.proposer);
    }
  }

  Simulation& simulation_;
  Text& text_;
  const char* name_;
  bool other_;
  std::int64_t drafted_to_ = 0;
};

Simulation::Simulation(const World& world) : world_(world), random_(world.seed) {
  World even = world;
  if (world.experts) {
    even.experts->pool = world.experts->count;
    costs_ = CostModel(ExpertDemand(world.experts->count, world.experts->active, 1));
  }
  for (const double rows : CostCurve::kRows) costs_.verify_curve().set(rows, even.verify_ms(rows));
  if (world.experts) costs_.set_expert_share(world.experts->ms / world.step_ms);
  costs_.other_curve().set(1, 1e-6);
  for (const Seat& seat : seats()) {
    DraftCosts& draft = costs_.drafter(seat.name);
    for (const double rows : CostCurve::kRows) {
      draft.root().set(rows, level_ms(seat.other, 0, rows));
      draft.levels().set(rows, level_ms(seat.other, 1, rows));
    }
  }
  begin_texts();
}

Simulation::~Simulation() = default;

std::vector<Simulation::Seat> Simulation::seats() const {
  std::vector<Seat> seats = {{"draft", false}};
  if (world_.other) {  // look-ups come first
    seats.insert(world_.other->lookup ? seats.begin() : seats.end(), Seat{"other", true});
  }
  return seats;
}

double Simulation::level_ms(bool other, int level, double rows) const {
  if (other) return world_.other->draft_ms;
  return level == 0 ? world_.root_ms(rows) : world_.draft_ms + world_.level_row_ms * (rows - 1);
}

/// How long something takes that is timed: other programs' turns are as long as a few forwards.
double Simulation::measured_ms(double ms) {
  std::normal_distribution<double> noise(0, 0.02);
  double took = ms * std::exp(noise(random_));
  if (busy_ && theirs_) took *= std::uniform_real_distribution<double>(1, 4)(random_);
  turn_ms_ -= took;
  if (turn_ms_ < 0) {
    theirs_ = !theirs_;
    turn_ms_ = std::exponential_distribution<double>(1 / (12 * world_.step_ms))(random_);
  }
  return took;
}

void Simulation::measure(bool busy) {
  busy_ = busy;
  CostModel fresh;
  CalmTimes forwards;
  const int passes = busy ? 3 : 5;  // by a clock, in the same time
  for (int pass = 0; pass < passes; ++pass) {
    for (const double rows : CostCurve::kRows) {
      forwards.add(1, measured_ms(world_.verify_ms(1)));
      if (rows <= 64 || pass == 0) forwards.add(rows, measured_ms(world_.verify_ms(rows)));
    }
  }
  for (const CalmTimes::Time& time : forwards.times())
    fresh.verify_curve().set(time.thing, time.ms, time.doubt);
  fresh.verify_curve().settle();
  fresh.other_curve().set(1, 1e-6);
  CalmTimes roots;
  CalmTimes levels;
  for (int pass = 0; pass < passes; ++pass) {
    for (const double rows : {1.0, 4.0, 16.0, 8.0, 2.0}) {
      roots.add(2, measured_ms(world_.root_ms(2)));
      double ms = measured_ms(level_ms(false, 1, rows));
      for (int level = 2; level < 4; ++level) ms = std::min(ms, measured_ms(level_ms(false, level, rows)));
      levels.add(rows, ms);
      measured_ms(world_.verify_ms(2));
    }
  }
  DraftCosts& draft = fresh.drafter("draft");
  for (const CalmTimes::Time& time : roots.times()) draft.root().set(time.thing, time.ms, time.doubt);
  for (const CalmTimes::Time& time : levels.times()) draft.levels().set(time.thing, time.ms, time.doubt);
  draft.root().settle();
  draft.levels().settle();
  busy_ = false;
  begin_with(fresh);
}

void Simulation::begin_with(const CostModel& kept) {
  const auto hand_over = [](const CostCurve& from, CostCurve& to) {
    CostCurve curve(1, 0);
    for (std::size_t i = 0; i < CostCurve::kRows.size(); ++i) {
      curve.set(CostCurve::kRows[i], from.fastest_ms(i), from.fastest().doubt(i));
    }
    curve.settle();
    to = curve;
  };
  const CostModel before = kept;
  costs_ = CostModel();
  hand_over(before.verify_curve(), costs_.verify_curve());
  costs_.other_curve().set(1, before.other_curve().fastest_ms(0));
  for (const auto& [name, draft] : before.drafters()) {
    hand_over(draft.root(), costs_.drafter(name).root());
    hand_over(draft.levels(), costs_.drafter(name).levels());
  }
  chooser_ = std::make_shared<Chooser>();
  begin_texts();
}

double Simulation::disturbed(double ms) {
  if (world_.noise == 0 && world_.wander == 0) return ms;
  std::normal_distribution<double> normal;
  return ms * std::exp(world_.noise * normal(random_) + world_.wander * std::sin(rounds_ / 40.0));
}

void Simulation::begin_texts() {
  texts_.clear();
  const std::vector<double> rights = world_.batch.empty() ? std::vector<double>{-1} : world_.batch;
  for (const double right : rights) {
    texts_.push_back(std::make_unique<Text>(world_, right, random_()));
    Text& text = *texts_.back();
    auto controlled = std::make_unique<AutoSequence>();
    for (const Seat& seat : seats()) {
      controlled->drafters.emplace_back(chooser_->belief(seat.name));
      text.draft.speculation.drafters.push_back(
          {.drafter = std::make_unique<FakeDrafter>(*this, text, seat.name, seat.other), .policy = nullptr});
    }
    if (world_.chain >= 0) {
      text.draft.speculation.drafters.front().policy =
          std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = world_.chain});
      while (text.draft.speculation.drafters.size() > 1) text.draft.speculation.drafters.pop_back();
      continue;
    }
    text.draft.speculation.steering.controller = chooser_;
    text.draft.speculation.steering.sequence = std::move(controlled);
  }
}

Simulation::Total Simulation::run(double tokens) {
  Total total;
  while (total.tokens < tokens) round(total);
  return total;
}

Simulation::Total Simulation::run_texts(int texts, double tokens) {
  Total total;
  for (int i = 0; i < texts; ++i) {
    begin_texts();
    const Total text = run(tokens);
    total.tokens += text.tokens;
    total.ms += text.ms;
  }
  return total;
}

void Simulation::teach(int outcomes) {
  std::bernoulli_distribution accepted(world_.claimed);
  SequencePrediction other_text(chooser_->belief("draft"));
  for (int i = 0; i < outcomes; ++i) {
    other_text.outcome(std::log(world_.claimed), 1 + i % 4, accepted(random_));
    other_text.pass();
  }
}

void Simulation::spoil(const Spoilt& by) {
  DraftCosts& draft = costs_.drafter("draft");
  for (const double rows : CostCurve::kRows) {
    const double share = std::log(rows) / std::log(CostCurve::kRows.back());
    const double error = by.one_row * std::pow(by.many_rows / by.one_row, share);
    const double ms = by.flat > 0 ? by.flat * world_.step_ms : error * world_.verify_ms(rows);
    // Beside a busy program the same takes now this, now that, and the measurement says so.
    costs_.verify_curve().set(rows, ms, by.flat > 0 ? 2 * CalmTimes::kDisturbed : 0);
    draft.root().set(rows, by.drafts * world_.root_ms(rows));
    draft.levels().set(rows, by.drafts * world_.draft_ms);
  }
}

double Simulation::verified(std::size_t sequence) const {
  return texts_[sequence]->verified / texts_[sequence]->rounds;
}

double Simulation::rate_of(std::size_t sequence) const {
  return static_cast<double>(texts_[sequence]->place()) / round_.clock().now_ms();
}

void Simulation::round(Total& total) {
  const double began = round_.clock().now_ms();
  std::vector<Text*> texts;
  for (const auto& text : texts_) {
    text->draft.info = {.context = text->position(), .room = 256, .max_depth = 256};
    if (world_.promised_ms > 0 && text == texts_.front()) {
      text->draft.info.tpot_ms = world_.promised_ms;
      text->draft.info.late_ms = began - world_.promised_ms * static_cast<double>(text->place());
    }
    texts.push_back(text.get());
  }
  round_.draft<Text>(texts);
  if (rounds_++ == world_.interrupted) round_.interrupt(10 * world_.step_ms);
  const int rows = round_.rows();
  const double verify_ms = disturbed(world_.verify_ms(rows));
  round_.clock().pass(verify_ms);
  costs_.observe_step(rows, static_cast<double>(texts_.front()->position()), verify_ms, 1e-6,
                      world_.experts ? world_.woken(rows) : 0);
  round_.observe({.rows = rows, .trees_ms = verify_ms});
  for (Text* text : texts) {
    text->verified += text->draft.tree.size() - 1;
    ++text->rounds;
    total.tokens += static_cast<double>(text->path.size());
    text->advance(std::ssize(text->path));
  }
  total.ms += round_.clock().now_ms() - began;
}

}  // namespace augur::simulation
