#include "draft/host_drafter.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "base/own_environment.h"
#include "draft/common/accepted_tokens.h"

namespace augur {
namespace {

/// What a drafter may not do, said by its name.
template <class... Args>
[[noreturn]] void misuse(const std::string& name, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::Misuse, "drafter {}: {}", name, fmt::format(format, std::forward<Args>(args)...));
}

/// The built-in drafter, and where it is in the round.
class InnerDrafter final : public BuiltInDrafter {
 public:
  InnerDrafter(std::string owner, std::unique_ptr<Drafter> drafter)
      : owner_(std::move(owner)), drafter_(std::move(drafter)), traits_(drafter_->traits()) {}

  Drafter& drafter() { return *drafter_; }
  const DrafterTraits& traits() const override { return traits_; }

  /// A call of propose() begins, which may let it draft; `job` outlives the call.
  void begin(const ExpandJob& job) {
    job_ = &job;
    drafted_.clear();
    if (job.frontier.front() == DraftTree::kRoot) added_.clear();
  }
  void end() { job_ = nullptr; }
  /// Whether it has drafted for this node in the call.
  bool drafted(std::int32_t node) const {
    return std::find(drafted_.begin(), drafted_.end(), node) != drafted_.end();
  }

  void draft(std::span<const std::int32_t> nodes) override {
    const OwnEnvironment environment;
    if (job_ == nullptr) misuse(owner_, "its built-in drafter drafts within propose() only");
    if (!drafted_.empty()) misuse(owner_, "its built-in drafter was called twice in one propose()");
    if (nodes.empty()) return;
    DraftTree& tree = *job_->tree;
    for (const std::int32_t node : nodes) {
      const auto asked = std::find(job_->frontier.begin(), job_->frontier.end(), node);
      if (asked == job_->frontier.end()) misuse(owner_, "node {} is not of the frontier", node);
      if (drafted(node)) misuse(owner_, "node {} was given to the built-in drafter twice", node);
      if (node != DraftTree::kRoot && added_.count({tree.parents()[at(node)], tree.tokens()[at(node)]}) == 0)
        misuse(owner_, "node {} was not added by its built-in drafter, which cannot go on there", node);
      drafted_.push_back(node);
    }
    const std::int32_t before = tree.size();
    drafter_->expand(tree, drafted_, job_->options);
    for (std::int32_t node = before; node < tree.size(); ++node)
      added_.emplace(tree.parents()[at(node)], tree.tokens()[at(node)]);
  }

 private:
  std::string owner_;
  std::unique_ptr<Drafter> drafter_;
  DrafterTraits traits_;
  const ExpandJob* job_ = nullptr;
  std::vector<std::int32_t> drafted_;
  /// Nodes of the round that it has added, by parent and token: a grammar may drop some of the newest, so
  /// that their numbers change, but not their parents'.
  std::set<std::pair<std::int32_t, TokenId>> added_;
};

class Setup final : public DrafterSetup {
 public:
  Setup(const std::string& name, const HostDrafterSpec& spec) : name_(name), spec_(spec) {
    context = spec.context;
    vocab = spec.vocab;
    settings = spec.settings;
  }
  BuiltInDrafter& built_in(const std::string& name) override {
    const OwnEnvironment environment;
    if (inner) misuse(name_, "it has a built-in drafter already: expected at most one");
    inner = std::make_unique<InnerDrafter>(name_, spec_.built_in(name));
    return *inner;
  }

  std::unique_ptr<InnerDrafter> inner;

 private:
  const std::string& name_;
  const HostDrafterSpec& spec_;
};

class HostDrafter final : public Drafter {
 public:
  HostDrafter(const CustomDrafterType& type, const HostDrafterSpec& spec)
      : name_("@" + type.name), vocab_(spec.vocab) {
    Setup setup(name_, spec);
    {
      const HostEnvironment host;
      custom_ = type.make(setup);
      if (custom_ != nullptr) traits_ = custom_->traits();
    }
    inner_ = std::move(setup.inner);
    if (custom_ == nullptr) misuse(name_, "none was made");
    if (inner_ != nullptr && inner_->traits().one_shot != traits_.one_shot)
      misuse(name_, "it is to be one_shot if its built-in drafter is, and only then");
  }
  ~HostDrafter() override {
    const HostEnvironment host;
    custom_.reset();
  }
  HostDrafter(const HostDrafter&) = delete;
  HostDrafter& operator=(const HostDrafter&) = delete;

  std::string_view name() const override { return name_; }
  DrafterTraits traits() const override { return traits_; }

  void reset() override {
    if (inner_) inner_->drafter().reset();
    known_ = 0;
    drafted_ = false;
    const HostEnvironment host;
    custom_->reset();
  }
  void sync(const AcceptedRows& rows) override {
    if (inner_) inner_->drafter().sync(rows);
    news_.clear();
    append_accepted(rows, known_, [&](TokenId token) { news_.push_back(token); });
    known_ += std::ssize(news_);
    const int drafted = std::exchange(drafted_, false) ? static_cast<int>(news_.size()) - 1 : 0;
    const HostEnvironment host;
    custom_->accepted(news_, drafted);
  }
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override {
    if (inner_) inner_->drafter().end_round();
    drafted_ = true;
  }

  // The built-in drafter's, if there is one.
  std::span<const int> tap_layers() const override {
    return inner_ ? inner_->drafter().tap_layers() : std::span<const int>();
  }
  std::optional<TargetWants> target_wants() const override {
    return inner_ ? inner_->drafter().target_wants() : std::nullopt;
  }
  SequenceRows* sequence_rows() override { return inner_ ? inner_->drafter().sequence_rows() : nullptr; }
  std::int64_t root_rows() const override { return inner_ ? inner_->drafter().root_rows() : 1; }
  bool run_chunk() override { return inner_ && inner_->drafter().run_chunk(); }
  void saw(const TargetRows& rows) override {
    if (inner_) inner_->drafter().saw(rows);
  }
  std::optional<EarlyRows> take_early_rows() override {
    return inner_ ? inner_->drafter().take_early_rows() : std::nullopt;
  }
  const void* group() const override { return inner_ ? inner_->drafter().group() : this; }

 private:
  DraftRequest request(const ExpandJob& job);
  void check(const ExpandJob& job, const DraftRequest& request);
  void add(const ExpandJob& job, const DraftRequest& request);

  std::string name_;
  std::int32_t vocab_;
  std::unique_ptr<InnerDrafter> inner_;  ///< null: it has none
  std::unique_ptr<CustomDrafter> custom_;
  DrafterTraits traits_;
  std::int64_t known_ = 0;  ///< tokens of the text that it has been told
  bool drafted_ = false;    ///< a round has ended whose tokens it has not been told
  std::vector<TokenId> news_;

  // The call in progress.
  std::vector<TokenId> tokens_;  ///< a copy of the tree: the built-in drafter adds to it meanwhile
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> depths_;
  std::vector<Proposal> proposals_;
  std::vector<std::int32_t> nodes_;  ///< [i]: of proposals_[i], once it has one
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> siblings_;
};

DraftRequest HostDrafter::request(const ExpandJob& job) {
  const DraftTree& tree = *job.tree;
  tokens_.assign(tree.tokens().begin(), tree.tokens().end());
  parents_.assign(tree.parents().begin(), tree.parents().end());
  depths_.assign(tree.depths().begin(), tree.depths().end());
  const ExpandOptions& options = job.options;
  const bool one_branch = traits_.one_shot && !(traits_.branching && options.branching);
  return {.text = options.tokens,
          .tokens = tokens_,
          .parents = parents_,
          .depths = depths_,
          .frontier = job.frontier,
          .most_children = one_branch ? 1 : options.top_k,
          .most_nodes = traits_.one_shot ? std::min(options.top_k, options.max_nodes) : options.max_nodes};
}

void HostDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                         const ExpandOptions& options) {
  if (frontier.empty()) return;
  const ExpandJob job{.drafter = this, .tree = &tree, .frontier = frontier, .options = options};
  const DraftRequest asked = request(job);
  proposals_.clear();
  if (inner_) inner_->begin(job);
  try {
    const HostEnvironment host;
    custom_->propose(asked, proposals_);
  } catch (...) {
    if (inner_) inner_->end();
    throw;
  }
  if (inner_) inner_->end();
  check(job, asked);
  add(job, asked);
}

/// Throws Error for proposals that may not be.
void HostDrafter::check(const ExpandJob& job, const DraftRequest& request) {
  const auto base = static_cast<std::int32_t>(request.tokens.size());
  const std::int32_t added = job.tree->size() - base + static_cast<std::int32_t>(proposals_.size());
  if (added > request.most_nodes)
    misuse(name_, "{} tokens were proposed where at most {} were asked for", added, request.most_nodes);
  if (job.options.sample && traits_.has_probabilities && !proposals_.empty())
    misuse(name_, "with has_probabilities only its built-in drafter can draw tokens for rejection sampling");
  std::vector<int> children(static_cast<std::size_t>(base) + proposals_.size());
  for (std::int32_t i = 0; i < std::ssize(proposals_); ++i) {
    const Proposal& p = proposals_[at(i)];
    if (p.token < 0 || p.token >= vocab_)
      misuse(name_, "proposal {}: token {} is outside the vocabulary of {}", i, p.token, vocab_);
    if (!std::isfinite(p.log_prob) || p.log_prob > 0)
      misuse(name_, "proposal {}: {} is no logarithm of a probability", i, p.log_prob);
    const auto found = std::find(request.frontier.begin(), request.frontier.end(), p.parent);
    const bool own = traits_.one_shot && p.parent >= base && p.parent < base + i;
    if (found == request.frontier.end() && !own) {
      misuse(name_, "proposal {}: its parent {} is no node of the frontier{}", i, p.parent,
             traits_.one_shot ? " and no earlier proposal" : "");
    }
    if (!own && inner_ && inner_->drafted(p.parent))
      misuse(name_, "proposal {}: its parent {} was left to the built-in drafter", i, p.parent);
    if (++children[at(p.parent)] > request.most_children)
      misuse(name_, "node {} has more children than the {} asked for", p.parent, request.most_children);
  }
}

/// Level by level, the children of a node in falling order.
void HostDrafter::add(const ExpandJob& job, const DraftRequest& request) {
  if (proposals_.empty()) return;
  DraftTree& tree = *job.tree;
  const auto base = static_cast<std::int32_t>(request.tokens.size());
  nodes_.resize(proposals_.size());
  order_.assign(request.frontier.begin(), request.frontier.end());
  for (std::size_t next = 0; next < order_.size(); ++next) {
    const std::int32_t parent = order_[next];
    siblings_.clear();
    for (std::int32_t i = 0; i < std::ssize(proposals_); ++i) {
      if (proposals_[at(i)].parent == parent) siblings_.push_back(i);
    }
    std::stable_sort(siblings_.begin(), siblings_.end(), [&](std::int32_t a, std::int32_t b) {
      return proposals_[at(a)].log_prob > proposals_[at(b)].log_prob;
    });
    const std::int32_t node = parent < base ? parent : nodes_[at(parent - base)];
    for (const std::int32_t i : siblings_) {
      const Proposal& p = proposals_[at(i)];
      nodes_[at(i)] = tree.add(node, p.token, p.log_prob, job.options.proposer);
      if (tree.depths()[at(nodes_[at(i)])] > traits_.max_depth)
        misuse(name_, "proposal {}: it is deeper than its max_depth of {}", i, traits_.max_depth);
      order_.push_back(base + i);
    }
  }
}

}  // namespace

std::unique_ptr<Drafter> make_host_drafter(const CustomDrafterType& type, const HostDrafterSpec& spec) {
  return std::make_unique<HostDrafter>(type, spec);
}

}  // namespace augur
