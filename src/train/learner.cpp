#include "train/learner.h"

#include <fmt/format.h>

#include <algorithm>

namespace augur {

void Grade::add(const Grade& other) {
  loss += other.loss;
  rows += other.rows;
  hits.resize(std::max(hits.size(), other.hits.size()));
  tries.resize(std::max(tries.size(), other.tries.size()));
  for (std::size_t i = 0; i < other.hits.size(); ++i) {
    hits[i] += other.hits[i];
    tries[i] += other.tries[i];
  }
}

double Grade::chain_length() const {
  double length = 1;
  double survival = 1;
  for (std::size_t i = 0; i < hits.size() && tries[i] > 0; ++i) {
    survival *= static_cast<double>(hits[i]) / static_cast<double>(tries[i]);
    length += survival;
  }
  return length;
}

std::string Grade::summary() const {
  std::string text = fmt::format("loss {:.4f}  chain {:.3f}  agreement", mean_loss(), chain_length());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    text += fmt::format(" {:.3f}",
                        tries[i] > 0 ? static_cast<double>(hits[i]) / static_cast<double>(tries[i]) : 0.0);
  }
  return text;
}

}  // namespace augur
