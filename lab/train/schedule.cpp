#include "lab/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace augur {

double Schedule::at(double along) const {
  if (along < warmup) return along / warmup + 0.01;
  const double after = std::min((along - warmup) / (1 - warmup), 1.0);
  return final_rate + (1 - final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * after));
}

Scheduler::Scheduler(torch::optim::Optimizer& optimizer, const Schedule& schedule)
    : LRScheduler(optimizer), schedule_(schedule), full_(get_current_lrs()) {}

void Scheduler::advance_to(double along) {
  along_ = along;
  step();
}

std::vector<double> Scheduler::get_lrs() {
  std::vector<double> rates = full_;
  for (double& rate : rates) rate *= schedule_.at(along_);
  return rates;
}

}  // namespace augur
