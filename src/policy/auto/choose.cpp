#include "policy/auto/choose.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace augur {
namespace {

/// Tokens in which catching up with a text (its prompt, what was written plainly) is to pay for itself, if
/// the text may be as long as that: most end before they must.
constexpr double kHorizon = 256;
/// Plain steps of catching up in a round, by all sequences together, that count like any drafting. What takes
/// longer is decided over the text.
constexpr double kPassingBy = 0.5;
constexpr double kFirstWaits =
    1.5;  ///< plain steps of catching up for which a first token may be kept waiting
/// What is hoped, rather than believed, to be won by catching up is to be so many times what it takes.
constexpr double kMargin = 1.5;
constexpr std::size_t kStretch = 8;  ///< rows over which a row's least price is taken: half a kernel's tile

/// Whether the tree's first nodes are the ones that are known, under the same numbers.
[[maybe_unused]] bool knows(const std::vector<AutoText::Candidate>& known, const DraftTree& tree) {
  if (std::ssize(known) > tree.size()) return false;
  for (std::size_t node = 1; node < known.size(); ++node) {
    if (known[node].parent != tree.parents()[node] || known[node].token != tree.tokens()[node]) return false;
  }
  return true;
}

}  // namespace

// --- The round -------------------------------------------------------------------------------------------

Chooser::Chooser() {
  // Later rounds may have larger trees than the first ones, and should not have to allocate.
  for (Terms* terms : {&now_, &coming_}) terms->row_ms.reserve(kMostNodes + 1);
  for (std::vector<float>* chances : {&candidates_, &more_}) chances->reserve(kMostNodes);
  ranked_.reserve(kMostNodes);
  chances_.reserve(kMostNodes);
}

void Chooser::begin(std::span<RoundMember* const> members, int other_rows) {
  sequences_ = static_cast<double>(members.size());
  tree_rows_ = sequences_ + other_rows;
  base_rows_ = tree_rows_ + members.front()->info.prompt_rows;
  costs_ = members.front()->info.costs;
  context_ = 0;
  std::size_t room = 0;
  for (RoundMember* member : members) {
    context_ += static_cast<double>(member->info.context) / sequences_;
    room += static_cast<std::size_t>(std::max(0, member->info.room));
    AutoText& text = text_of(*member);
    text.covered = 0;
    for (AutoText::Drafter& d : text.drafters) d.begin_round(member->sampled, sequences_);
  }
  base_ms_ = costs_->verify_ms(base_rows_, context_);
  for (RoundMember* member : members) {
    text_of(*member).set_worth(member->info, base_ms_ + costs_->other_ms());
  }
  room_ = std::min(room, static_cast<std::size_t>(kMostNodes));
  const double reading = members.front()->info.reading;
  price_ = std::max(1.0, rate_.tokens_per_step()) * (sequences_ + reading) / step_ms(reading);
  set_terms(now_, 0, members.front()->info.prompt_rows, kOptimism);
  coming_known_ = false;
  draft_ms_ = 0;
  investing_ = 0;
  slows_ = 1;
  hopes_ = false;
  candidates_.clear();
  plain_ = rate_.plain_steps_due();
}

/// The part in a plain step of the members and of `reading` texts more.
double Chooser::step_ms(double reading) const {
  const double trees = tree_rows_ + reading;
  return (costs_->verify_ms(trees, context_) + costs_->other_ms()) * (sequences_ + reading) / trees;
}

/// Of the members and `reading` texts more, beside `prompt_rows` rows; rows `errors` standard errors below
/// what is believed.
void Chooser::set_terms(Terms& terms, double reading, double prompt_rows, double errors) const {
  terms.step_ms = step_ms(reading);
  std::vector<double>& row_ms = terms.row_ms;
  row_ms.resize(room_ + 1);
  costs_->optimistic_rows_ms(tree_rows_ + reading + prompt_rows, context_, errors, row_ms);
  // A single row's price may be next to nothing where a kernel's tile is not full yet.
  const std::size_t stretch = std::min(kStretch, row_ms.size() - 1);
  terms.threshold = 1;
  for (std::size_t n = 0; stretch > 0 && n + stretch < row_ms.size(); ++n) {
    terms.threshold =
        std::min(terms.threshold, price_ * (row_ms[n + stretch] - row_ms[n]) / static_cast<double>(stretch));
  }
}

Chooser::Cut Chooser::best(const Terms& terms, std::span<const float> more) const {
  Cut best;
  double tokens = 0;
  std::size_t a = 0;
  std::size_t b = 0;
  const std::size_t most = std::min(terms.row_ms.size() - 1, candidates_.size() + more.size());
  for (std::size_t nodes = 1; nodes <= most; ++nodes) {
    const bool first = b == more.size() || (a < candidates_.size() && candidates_[a] >= more[b]);
    tokens += static_cast<double>(first ? candidates_[a++] : more[b++]);
    const double net = tokens - price_ * terms.row_ms[nodes];
    if (net > best.net) best = {nodes, net};
  }
  return best;
}

void Chooser::plan(int level, std::span<RoundMember* const> growing) {
  if (level == 0) {
    choose_drafters(growing);
  } else {
    choose_frontier(level, growing);
  }
}

// --- Who drafts ------------------------------------------------------------------------------------------

/// Tokens, less the price of their time, that drafting is expected to add where nobody else has proposed the
/// next token with probability `open`: of the best number of levels of the likeliest branch, with all the
/// siblings along it. Catching up is shared out over the rounds that the text has left.
Chooser::Prospect Chooser::prospect(const AutoText::Drafter& d, const Terms& terms, double open,
                                    double errors) {
  const RoundInfo& round = d.round;
  if (round.room < 1) return {};
  if (round.drafter.one_shot)
    return {.worth = d.gain - price_ * first_level_ms(d)};  // a mean of chances says nothing of it
  const int levels = std::min({round.max_depth, round.drafter.max_depth, kBranch});
  const double left = std::min(round.max_depth + 1.0, kHorizon);
  const double catch_up = price_ * catch_up_ms(d);
  const double now = best(terms).net;
  double ms = first_level_ms(d);
  double chance = open;
  double round_tokens = 1;
  Prospect most;
  more_.clear();
  for (int level = 1; level <= levels && chance >= terms.threshold; ++level) {
    const auto children = d.prediction.expected(level, d.drawn, errors);
    double tokens = 0;
    for (std::size_t rank = 0; rank < children.size() && chance * children[rank] >= terms.threshold; ++rank) {
      more_.push_back(static_cast<float>(chance * children[rank]));
      tokens += chance * children[rank];
    }
    round_tokens += tokens;
    std::sort(more_.begin(), more_.end(), std::greater<>());
    const double net = best(terms, more_).net - now - price_ * ms;
    const double rounds = std::max(1.0, left / round_tokens);
    if (net - catch_up / rounds > most.worth) most = {net - catch_up / rounds, net * rounds};
    const double next_ms = level_ms(d, level, static_cast<int>(sequences_)) / sequences_;
    if (tokens <= price_ * next_ms) break;  // a further one adds no more tokens than this one
    ms += next_ms;
    chance *= children[0];
  }
  return most;
}

/// Of one level over the rows of a whole batch; the first one's with what it slows the target's step down.
/// What was never timed is tried.
double Chooser::level_ms(const AutoText::Drafter& d, int level, int rows) const {
  const DraftCosts& costs = *d.round.draft_costs;
  if (!costs.measured()) return 0;
  return costs.level_ms(level, rows) + (level == 0 ? (costs.slows() - 1) * base_ms_ : 0);
}

/// Tokens that a drafter catches up with in a round like the last ones, the root included.
int Chooser::usual_rows(const AutoText::Drafter& d) const {
  return std::min(d.round.behind, 1 + static_cast<int>(rate_.tokens()));
}

/// A sequence's share of a first level in which all take part.
double Chooser::first_level_ms(const AutoText::Drafter& d) const {
  return level_ms(d, 0, usual_rows(d) * static_cast<int>(sequences_)) / sequences_;
}

/// What it takes to catch up with more than that: with a prompt, with what was written without it.
double Chooser::catch_up_ms(const AutoText::Drafter& d) const {
  const DraftCosts& costs = *d.round.draft_costs;
  if (!costs.measured()) return 0;
  return std::max(0.0, costs.catch_up_ms(d.round.behind) - costs.level_ms(0, usual_rows(d)));
}

/// The same, less what would be lost of what the drafters after it are worth: two that say the same are worth
/// one.
double Chooser::worth_beside_others(const AutoText& text, std::size_t index) {
  const double open = text.worth * (1 - text.covered);
  const AutoText::Drafter& d = text.drafters[index];
  const double own = prospect(d, now_, open, kOptimism).worth;
  if (own <= 0) return 0;
  // Asking a look-up is next to free, and who comes after it knows what it said.
  if (d.round.drafter.one_shot && price_ * first_level_ms(d) < kLeastGain) return own;
  const double left = open * (1 - d.prediction.expected(1, d.drawn, 0)[0]);
  double others = 0;
  double others_then = 0;
  for (std::size_t other = index + 1; other < text.drafters.size(); ++other) {
    others = std::max(others, prospect(text.drafters[other], now_, open, kOptimism).worth);
    others_then = std::max(others_then, prospect(text.drafters[other], now_, left, kOptimism).worth);
  }
  return own + others_then - others;
}

/// Whether the drafter may catch up with the text, beside what of that is granted in this round already, and
/// what pays for it: the round, where all together is next to nothing; what is won later, where it is
/// believed to pay over the text that is left, or the budget bears it; else the budget's balance.
bool Chooser::may_catch_up(const AutoText& text, const AutoText::Drafter& d, double granted, Ranked& ranked) {
  ranked.catch_up_ms = catch_up_ms(d);
  const double cost = steps(ranked.catch_up_ms);
  if (cost == 0 || granted + cost <= kPassingBy) return true;
  if (text.rounds == 0 && granted + cost > kFirstWaits) return false;
  // It has to pay beside those, too, whose prompts are being read now.
  if (!std::exchange(coming_known_, true)) set_terms(coming_, d.round.reading, 0, 0);
  const double coming_cost = ranked.catch_up_ms / coming_.step_ms;
  const double open = text.worth * (1 - text.covered);
  // Texts differ, for the better as for the worse: what is lost with all of them is decided by the drafter.
  const bool pays = prospect(d, coming_, open, -kCaution * d.prediction.drafters_share()).worth > 0;
  const Prospect hope = prospect(d, coming_, open, kOptimism);
  const double back = hope.back / (price_ * coming_.step_ms);
  const bool invests =
      pays || (!d.begun && back > kMargin * coming_cost && budget_.bears(investing_ + coming_cost, back));
  if (!invests) return hope.worth > 0 && budget_.affords(draft_ms_ / coming_.step_ms + coming_cost);
  investing_ += coming_cost;
  ranked.invests = coming_cost;
  ranked.catch_up_ms = 0;
  return true;
}

/// What has not been worth it until now, but learns, is asked so often that it takes a small share of the
/// time: what it says then is all the evidence there is.
bool Chooser::may_look(AutoText::Drafter& d) {
  if (!d.round.drafter.learns || d.round.room < 1) return false;
  const double cost = steps(first_level_ms(d) + catch_up_ms(d));
  if (cost > d.saved) return false;
  d.saved -= cost;
  return true;
}

void Chooser::choose_drafters(std::span<RoundMember* const> growing) {
  ranked_.clear();
  for (std::size_t m = 0; m < growing.size() && !plain_; ++m) {
    const AutoText& text = text_of(*growing[m]);
    // One price for the level, whoever is in it: it is taken off below.
    const double level = price_ * first_level_ms(drafter_of(*growing[m]));
    const Ranked ranked{.gain = worth_beside_others(text, growing[m]->drafter) + level,
                        .member = static_cast<std::uint32_t>(m)};
    if (ranked.gain > level || ranked.gain > kLeastGain) ranked_.push_back(ranked);
  }
  std::sort(ranked_.begin(), ranked_.end(), by_gain);
  const double invested_before = investing_;
  double granted = 0;
  std::size_t may_draft = 0;
  for (Ranked ranked : ranked_) {
    const AutoText& text = text_of(*growing[ranked.member]);
    const AutoText::Drafter& d = drafter_of(*growing[ranked.member]);
    const double open = text.worth * (1 - text.covered);
    if (!may_catch_up(text, d, granted, ranked)) continue;
    granted += steps(ranked.catch_up_ms) + ranked.invests;
    ranked.hopes = prospect(d, now_, open, -kCaution).worth <= 0;
    ranked_[may_draft++] = ranked;
  }
  ranked_.resize(may_draft);
  investing_ = invested_before;
  std::size_t chosen = 0;
  double gain = 0;
  double most = 0;
  double spent_ms = 0;
  double charged_ms = 0;
  int rows = 0;
  for (std::size_t k = 0; k < ranked_.size(); ++k) {
    const AutoText::Drafter& d = drafter_of(*growing[ranked_[k].member]);
    rows += usual_rows(d);
    charged_ms += ranked_[k].catch_up_ms;
    const bool hoped = std::exchange(hopes_, hopes_ || ranked_[k].hopes);
    gain += ranked_[k].gain - kLeastGain;
    const double ms = charged_ms + level_ms(d, 0, rows);
    if (!affords(ms, std::min(now_.row_ms.size() - 1, candidates_.size() + k + 1))) {
      hopes_ = hoped;
      break;
    }
    if (gain - price_ * level_ms(d, 0, rows) <= most) continue;
    most = gain - price_ * level_ms(d, 0, rows);
    chosen = k + 1;
    spent_ms = ms;
  }
  draft_ms_ += spent_ms;
  if (chosen > 0) slows_ *= drafter_of(*growing[ranked_[0].member]).round.draft_costs->slows();
  for (std::size_t k = 0; k < chosen; ++k) {
    investing_ += ranked_[k].invests;
    begin_drafting(drafter_of(*growing[ranked_[k].member]));
  }
  for (RoundMember* member : growing) {
    AutoText::Drafter& d = drafter_of(*member);
    if (d.drafts || plain_ || !may_look(d)) continue;
    draft_ms_ += first_level_ms(d);
    begin_drafting(d);
  }
}

void Chooser::begin_drafting(AutoText::Drafter& d) {
  d.drafts = d.begun = true;
  d.frontier.assign(1, DraftTree::kRoot);
  const int room = std::min(kBranch, d.round.room);
  d.width = !d.round.drafter.one_shot   ? children_worth(d, 1.0f, 1)
            : d.round.drafter.branching ? room
                                        : std::min(room, d.round.max_depth);
}

// --- How far ---------------------------------------------------------------------------------------------

void Chooser::absorb(AutoText& text, AutoText::Drafter& d, const DraftTree& tree) {
  std::vector<AutoText::Candidate>& known = d.candidates;
  assert(knows(known, tree) && "a tree grows, and its nodes keep their numbers");
  d.newest = static_cast<std::int32_t>(known.size());
  const double before = d.round.drafter.one_shot ? best(now_).net : 0;
  double at_root = 0;
  double left = 1;  // of a node's certainty to its children to come
  more_.clear();    // log-probabilities of the siblings so far
  for (auto v = std::ssize(known); v < tree.size(); ++v) {
    const auto node = static_cast<std::size_t>(v);
    const std::int32_t parent = tree.parents()[node];
    if (known.back().parent != parent) more_.clear();
    AutoText::Candidate c{.parent = parent,
                          .token = tree.tokens()[node],
                          .depth = tree.depths()[node],
                          .rank = static_cast<std::int32_t>(more_.size()),
                          .log_prob = tree.log_probs()[node]};
    more_.push_back(c.log_prob);
    if (c.rank == 0) left = 1;
    const double a = std::clamp(d.chance(c.log_prob, c.depth, c.rank), 0.0, left);
    left = std::max(0.0, left - a);
    // Its logarithm is its score, so it stays above 0.
    c.chance = std::max(known[static_cast<std::size_t>(parent)].chance * static_cast<float>(a),
                        std::numeric_limits<float>::min());
    if (parent == DraftTree::kRoot) at_root += a;
    const bool last = v + 1 == tree.size() || tree.parents()[node + 1] != parent;
    if (last && !d.drawn) d.prediction.drafted(c.depth, more_);
    if (static_cast<double>(c.chance) >= now_.threshold) candidates_.push_back(c.chance);
    known.push_back(c);
  }
  if (d.newest == 1 && tree.only_root() && !d.drawn) d.prediction.drafted(1, {});
  if (at_root > 0) text.covered = 1 - (1 - text.covered) * (1 - std::min(at_root, 1.0));
  std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
  if (d.round.drafter.one_shot && d.newest == 1) d.learn_gain((best(now_).net - before) / text.worth);
}

int Chooser::children_worth(const AutoText::Drafter& d, float chance, int depth) const {
  const auto children = d.prediction.expected(depth, d.drawn, 0);
  const auto worth = std::find_if(children.begin(), children.end(), [&](double child) {
    return static_cast<double>(chance) * child < now_.threshold;
  });
  return std::max(static_cast<int>(worth - children.begin()), 1);
}

/// The newest nodes of all trees, the likeliest first: as many are expanded as it takes for the tokens that
/// their children are expected to add, less the price of their rows and of the level, to be the most.
void Chooser::choose_frontier(int level, std::span<RoundMember* const> growing) {
  ranked_.clear();
  for (std::size_t m = 0; m < growing.size(); ++m) {
    AutoText& text = text_of(*growing[m]);
    AutoText::Drafter& d = drafter_of(*growing[m]);
    d.frontier.clear();
    if (!d.drafts) continue;
    absorb(text, d, *growing[m]->tree);
    if (d.round.drafter.one_shot ||
        level >= std::min({d.round.max_depth, d.round.drafter.max_depth, kBranch})) {
      continue;
    }
    const std::size_t before = ranked_.size();
    for (auto node = d.newest; node < std::ssize(d.candidates); ++node) {
      const float chance = d.candidates[static_cast<std::size_t>(node)].chance;
      if (static_cast<double>(chance) < now_.threshold) continue;
      ranked_.push_back({.chance = chance, .member = static_cast<std::uint32_t>(m), .node = node});
    }
    const auto begin = ranked_.begin() + static_cast<std::ptrdiff_t>(before);
    std::sort(begin, ranked_.end(), by_chance);
    ranked_.resize(std::min(ranked_.size(), before + AutoText::kMostWidth));
  }
  std::sort(ranked_.begin(), ranked_.end(), by_chance);

  const double now = best(now_).net;
  double most = kLeastGain;
  std::size_t chosen = 0;
  double spent_ms = 0;
  more_.clear();
  std::size_t next = 1;  // widths that are looked at: all small ones, ever fewer large ones
  for (std::size_t k = 0; k < ranked_.size(); ++k) {
    const AutoText::Drafter& d = drafter_of(*growing[ranked_[k].member]);
    for (const double child : d.prediction.expected(level + 1, d.drawn, 0)) {
      const double chance = static_cast<double>(ranked_[k].chance) * child;
      if (chance < now_.threshold) break;
      more_.push_back(static_cast<float>(chance));
    }
    if (k + 1 != next && k + 1 != ranked_.size()) continue;
    next += 1 + next / 16;
    std::sort(more_.begin(), more_.end(), std::greater<>());
    const Cut cut = best(now_, more_);
    const double ms = level_ms(d, level, static_cast<int>(k) + 1);
    if (!affords(ms, cut.nodes)) break;
    if (cut.net - now - price_ * ms <= most) continue;
    most = cut.net - now - price_ * ms;
    chosen = k + 1;
    spent_ms = ms;
  }
  draft_ms_ += spent_ms;
  for (std::size_t k = 0; k < chosen; ++k) {
    AutoText::Drafter& d = drafter_of(*growing[ranked_[k].member]);
    if (d.frontier.empty()) d.width = children_worth(d, ranked_[k].chance, level + 1);
    d.frontier.push_back(ranked_[k].node);
  }
}

// --- What is verified ------------------------------------------------------------------------------------

void Chooser::cut(std::span<RoundMember* const> members) {
  ranked_.clear();
  for (std::size_t m = 0; m < members.size(); ++m) {
    const DraftTree& tree = *members[m]->tree;
    const AutoText& text = text_of(*members[m]);
    path_chances(text, tree, -kCaution);
    for (std::int32_t node = 1; node < tree.size(); ++node) {
      const auto at = static_cast<std::size_t>(node);
      ranked_.push_back({.chance = std::exp(tree.scores()[at]),
                         .sure = static_cast<float>(text.worth * chances_[at]),
                         .member = static_cast<std::uint32_t>(m),
                         .node = node});
    }
  }
  std::sort(ranked_.begin(), ranked_.end(), by_chance);
  candidates_.clear();
  for (const Ranked& r : ranked_) candidates_.push_back(r.chance);
  std::size_t nodes = best(now_).nodes;
  double sure = 0;
  for (std::size_t k = 0; k < nodes; ++k) sure += ranked_[k].sure;
  for (; nodes > 0; --nodes) {
    hopes_ = sure < price_ * now_.row_ms[nodes];
    if (affords(0, nodes)) break;
    sure -= ranked_[nodes - 1].sure;
  }

  while (keep_.size() < members.size()) keep_.emplace_back().reserve(kMostNodes);
  for (std::size_t m = 0; m < members.size(); ++m) keep_[m].assign(1, DraftTree::kRoot);
  for (std::size_t k = 0; k < nodes; ++k) keep_[ranked_[k].member].push_back(ranked_[k].node);
  for (std::size_t m = 0; m < members.size(); ++m) {
    std::sort(keep_[m].begin(), keep_[m].end());
    members[m]->tree->select(keep_[m]);
  }
  forecast(members, nodes);
}

/// P(v) of the nodes of a tree, `errors` standard errors above what is believed, into chances_.
void Chooser::path_chances(const AutoText& text, const DraftTree& tree, double errors) {
  chances_.assign(static_cast<std::size_t>(tree.size()), 1.0);
  for (std::size_t node = 1; node < chances_.size(); ++node) {
    const AutoText::Drafter& d = text.drafters[tree.proposers()[node] - 1u];
    const double a = d.chance(tree.log_probs()[node], tree.depths()[node], 0, errors);
    chances_[node] = chances_[static_cast<std::size_t>(tree.parents()[node])] * a;
  }
}

void Chooser::forecast(std::span<RoundMember* const> members, std::size_t nodes) {
  const double rows = tree_rows_ + static_cast<double>(nodes);
  const double verify_ms = costs_->verify_ms(base_rows_ + static_cast<double>(nodes), context_);
  expected_ms_ = verify_ms * slows_;
  for (RoundMember* member : members) {
    const DraftTree& tree = *member->tree;
    AutoText& text = text_of(*member);
    StepForecast& f = member->forecast;
    path_chances(text, tree, 0);
    f.tokens = std::accumulate(chances_.begin(), chances_.end(), 0.0);
    f.mode = nodes == 0 ? RoundMode::Plain : hopes_ ? RoundMode::Probe : RoundMode::Speculate;
    f.ms =
        (draft_ms_ + costs_->other_ms()) / sequences_ + verify_ms * static_cast<double>(tree.size()) / rows;
    f.price = price_ / sequences_;
    f.plain_ms = now_.step_ms / sequences_;
  }
}

// --- What came of it -------------------------------------------------------------------------------------

void Chooser::observe(std::span<RoundMember* const> members) {
  double tokens = 0;
  double nodes = 0;
  double draft_ms = 0;
  double trees_ms = 0;
  double other_ms = 0;
  for (RoundMember* member : members) {
    const StepTrace& trace = *member->trace;
    tokens += static_cast<double>(trace.path.size());
    nodes += static_cast<double>(trace.tree->size() - 1);
    draft_ms += trace.draft_ms;
    trees_ms += trace.verify_ms;
    other_ms += trace.other_ms;
    text_of(*member).learn(trace);
  }
  if (investing_ > 0) {  // is no part of what rounds take
    const double usual_ms = std::min(draft_ms, draft_ms_);
    budget_.invest(steps(draft_ms - usual_ms));
    draft_ms = usual_ms;
  }
  const auto sequences = static_cast<double>(members.size());
  const StepTrace& any = *members.front()->trace;
  const double prompts = std::max(0.0, any.batch_rows - tree_rows_ - nodes);
  // Of the verification what the drafts took: the rest is a plain step's, slow or fast as the moment is.
  const double base = tree_rows_ + prompts;
  const double expected = costs_->verify_ms(base + nodes, context_) * slows_;
  const double share = std::max(0.0, 1 - costs_->verify_ms(base, context_) / expected);
  const double own = (sequences + nodes) / (tree_rows_ + nodes);  // of the trees
  const double verify_ms = prompts > 0 ? any.step_ms : trees_ms / own;
  const double of_drafts = share * verify_ms;
  const double step_ms = now_.step_ms * sequences / sequences_;
  // Beside prompts a step is a plain one and what the drafts took, however long the prompts made it.
  const double took =
      prompts > 0 ? 1 + (draft_ms + of_drafts) / step_ms : (draft_ms + own * verify_ms + other_ms) / step_ms;
  rate_.observe({.tokens = tokens / sequences,
                 .steps = took,
                 .plain = nodes == 0 && steps(draft_ms_) < kLeastGain,
                 .unexpected = prompts == 0 ? std::abs(verify_ms / expected_ms_ - 1) : 0});
  budget_.pass(took);
  if (draft_ms_ == 0 && nodes == 0) return;
  budget_.book((tokens - sequences) / sequences, (draft_ms + of_drafts) / step_ms,
               (draft_ms_ + share * expected) / step_ms);
}

}  // namespace augur
