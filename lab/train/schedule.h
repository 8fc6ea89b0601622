#pragma once
#include <torch/torch.h>

#include <vector>

namespace augur {

/// A learning rate's way through a run: a linear warm-up, then half a cosine.
struct Schedule {
  double warmup = 0;      ///< share of the run
  double final_rate = 0;  ///< share of the rate that is left at the end
  /// Share of the rate when the share `along` of the run is done.
  double at(double along) const;
};

/// Moves the rates of an optimizer's groups along a schedule, each from what it was. Own code: libtorch
/// brings StepLR and ReduceLROnPlateau, and these count steps, which differ in tokens.
class Scheduler final : public torch::optim::LRScheduler {
 public:
  /// The optimizer must outlive it.
  Scheduler(torch::optim::Optimizer& optimizer, const Schedule& schedule);
  void advance_to(double along);

 private:
  std::vector<double> get_lrs() override;

  Schedule schedule_;
  std::vector<double> full_;  ///< the groups' rates
  double along_ = 0;
};

}  // namespace augur
