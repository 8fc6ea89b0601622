#pragma once
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "policy/policy.h"

namespace augur {

/// A policy that does what another does, and shows every candidate tree before it is pruned.
class WatchedPolicy final : public TreePolicy {
 public:
  using Watcher = std::function<void(const DraftTree&)>;
  WatchedPolicy(std::unique_ptr<TreePolicy> inner, Watcher watcher)
      : inner_(std::move(inner)), watcher_(std::move(watcher)) {}

  NodeWants wants() const override { return inner_->wants(); }
  void begin(const RoundInfo& round) override { inner_->begin(round); }
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override {
    inner_->next_frontier(tree, out);
  }
  int width() const override { return inner_->width(); }
  double least_confidence() const override { return inner_->least_confidence(); }
  bool branches() const override { return inner_->branches(); }
  void prune(DraftTree& tree) override {
    watcher_(tree);
    inner_->prune(tree);
  }
  StepForecast forecast() const override { return inner_->forecast(); }
  double classify_ms() const override { return inner_->classify_ms(); }
  void observe(const StepTrace& step) override { inner_->observe(step); }
  void abandoned() override { inner_->abandoned(); }

 private:
  std::unique_ptr<TreePolicy> inner_;
  Watcher watcher_;
};

}  // namespace augur
