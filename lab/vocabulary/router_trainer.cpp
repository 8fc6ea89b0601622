#include "lab/vocabulary/router_trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/philox.h"

namespace augur {
namespace {

/// One matrix or vector being learned (Kingma and Ba, 2015).
class Adam {
 public:
  explicit Adam(std::vector<float>& values) : values_(values), mean_(values.size()), square_(values.size()) {}

  void step(std::span<const float> gradient, float rate) {
    constexpr float kMean = 0.9f;
    constexpr float kSquare = 0.999f;
    ++steps_;
    const auto correct_mean = static_cast<float>(1.0 / (1.0 - std::pow(kMean, steps_)));
    const auto correct_square = static_cast<float>(1.0 / (1.0 - std::pow(kSquare, steps_)));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      mean_[i] = kMean * mean_[i] + (1 - kMean) * gradient[i];
      square_[i] = kSquare * square_[i] + (1 - kSquare) * gradient[i] * gradient[i];
      values_[i] -= rate * mean_[i] * correct_mean / (std::sqrt(square_[i] * correct_square) + 1e-8f);
    }
  }

 private:
  std::vector<float>& values_;
  std::vector<float> mean_, square_;
  int steps_ = 0;
};

/// Uniform with the standard deviation that keeps a ReLU's scale (He et al.,
/// 2015).
std::vector<float> initial(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                           std::uint32_t stream) {
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  const float width = std::sqrt(6.0f / static_cast<float>(columns));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = philox4x32({static_cast<std::uint32_t>(i), 0, stream, 0x524fu}, seed);
    values[i] = width * (2 * uniform_open(bits[0]) - 1);
  }
  return values;
}

std::vector<std::int64_t> shuffled(Range which, std::uint64_t seed, int epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(which.size()));
  std::iota(order.begin(), order.end(), which.begin);
  for (std::size_t i = order.size(); i > 1; --i) {
    const auto bits =
        philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(epoch), 0, 0x5348u}, seed);
    std::swap(order[i - 1], order[((std::uint64_t{bits[0]} << 32) | bits[1]) % i]);
  }
  return order;
}

Matrix as_matrix(std::int64_t rows, std::int64_t columns, std::span<const float> values) {
  Matrix m(rows, columns);
  std::copy(values.begin(), values.end(), m.values.begin());
  return m;
}

void add_bias(Matrix& m, std::span<const float> bias) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c) m.row(r)[c] += bias[static_cast<std::size_t>(c)];
  }
}

std::vector<float> column_sums(const Matrix& m) {
  std::vector<float> sums(static_cast<std::size_t>(m.columns));
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c) sums[static_cast<std::size_t>(c)] += m.row(r)[c];
  }
  return sums;
}

struct Activations {
  Matrix hidden;  ///< after the ReLU
  Matrix scores;
};

Activations forward(Backend& backend, const ClusterPart& part, const Matrix& x) {
  Activations out;
  out.hidden =
      product_with_transposed(backend, x, as_matrix(part.router_hidden, part.inputs(), part.fc1_weight));
  add_bias(out.hidden, part.fc1_bias);
  for (float& v : out.hidden.values) v = std::max(v, 0.0f);
  out.scores = product_with_transposed(backend, out.hidden,
                                       as_matrix(part.clusters, part.router_hidden, part.fc2_weight));
  add_bias(out.scores, part.fc2_bias);
  return out;
}

/// The drafter's probability of each cluster, by the tokens that were kept.
void cluster_mass(const RouterExamples& examples, std::int64_t example, const ClusterPart& part,
                  float* mass) {
  std::fill_n(mass, part.clusters, 0.0f);
  for (std::int64_t i = 0; i < examples.top; ++i) {
    const auto at = static_cast<std::size_t>(example * examples.top + i);
    if (examples.tokens[at] < 0) continue;
    mass[part.cluster_of[static_cast<std::size_t>(examples.tokens[at])]] += examples.probs[at];
  }
}

/// Turns a row of scores into the loss's gradient; returns the loss. Clusters
/// in `taken` are not learned.
double to_gradient(RouterLoss loss, const std::vector<bool>& taken, std::span<float> mass, float* scores) {
  const auto n = mass.size();
  double sum = 0;
  if (loss == RouterLoss::Top) {
    for (std::size_t c = 0; c < n; ++c) {
      const float z = scores[c];
      const float y = mass[c] > 0 ? 1.0f : 0.0f;
      scores[c] = taken[c] ? 0.0f : 1.0f / (1.0f + std::exp(-z)) - y;
      if (!taken[c]) sum += std::max(z, 0.0f) - z * y + std::log1p(std::exp(-std::abs(z)));
    }
    return sum;
  }
  float total = 0;
  float high = -std::numeric_limits<float>::infinity();
  for (std::size_t c = 0; c < n; ++c) {
    if (taken[c]) continue;
    total += mass[c];
    high = std::max(high, scores[c]);
  }
  double partition = 0;
  for (std::size_t c = 0; c < n; ++c) {
    if (!taken[c]) partition += std::exp(static_cast<double>(scores[c] - high));
  }
  // Contexts weigh what is left for the router to find: little where the
  // clusters that are always there have it.
  for (std::size_t c = 0; c < n; ++c) {
    const double log_p = scores[c] - high - std::log(partition);
    scores[c] = taken[c] ? 0.0f : static_cast<float>(total * std::exp(log_p)) - mass[c];
    if (!taken[c] && mass[c] > 0) sum -= mass[c] * log_p;
  }
  return sum;
}

Matrix rows_of(const RouterExamples& examples, std::span<const std::int64_t> which) {
  Matrix x(std::ssize(which), examples.inputs.columns);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    std::copy_n(examples.inputs.row(which[static_cast<std::size_t>(r)]), x.columns, x.row(r));
  }
  return x;
}

}  // namespace

void train_router(Backend& backend, const RouterExamples& examples, Range which,
                  std::span<const std::int32_t> always, const RouterTraining& options, ClusterPart& part,
                  const std::function<bool(double, double)>& progress) {
  part.router_hidden = options.hidden;
  part.fc1_weight = initial(part.router_hidden, part.inputs(), options.seed, 1);
  part.fc1_bias.assign(static_cast<std::size_t>(part.router_hidden), 0.0f);
  part.fc2_weight = initial(part.clusters, part.router_hidden, options.seed, 2);
  for (float& w : part.fc2_weight) w *= 0.1f;
  part.fc2_bias.assign(static_cast<std::size_t>(part.clusters), 0.0f);
  std::vector<bool> taken(static_cast<std::size_t>(part.clusters));
  for (const std::int32_t c : always) taken[static_cast<std::size_t>(c)] = true;

  Adam fc1(part.fc1_weight), fc1_bias(part.fc1_bias), fc2(part.fc2_weight), fc2_bias(part.fc2_bias);
  const std::int64_t batch = std::min(options.batch, which.size());
  const std::int64_t per_epoch = which.size() / batch;
  const auto steps = std::max<std::int64_t>(1, std::llround(options.epochs * static_cast<double>(per_epoch)));
  std::vector<std::int64_t> order;
  std::vector<float> mass(static_cast<std::size_t>(part.clusters));
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step % per_epoch == 0) order = shuffled(which, options.seed, static_cast<int>(step / per_epoch));
    const std::span<const std::int64_t> chosen = std::span(order).subspan(
        static_cast<std::size_t>(step % per_epoch * batch), static_cast<std::size_t>(batch));
    const Matrix x = rows_of(examples, chosen);
    Activations a = forward(backend, part, x);
    double loss = 0;
    for (std::int64_t r = 0; r < batch; ++r) {
      cluster_mass(examples, chosen[static_cast<std::size_t>(r)], part, mass.data());
      loss += to_gradient(options.loss, taken, mass, a.scores.row(r));
    }
    const float scale = 1.0f / static_cast<float>(batch);
    for (float& g : a.scores.values) g *= scale;

    const Matrix scores_t = transposed(a.scores);
    const Matrix fc2_gradient = product_with_transposed(backend, scores_t, transposed(a.hidden));
    Matrix hidden_gradient = product_with_transposed(
        backend, a.scores, transposed(as_matrix(part.clusters, part.router_hidden, part.fc2_weight)));
    for (std::size_t i = 0; i < hidden_gradient.values.size(); ++i) {
      if (a.hidden.values[i] <= 0) hidden_gradient.values[i] = 0;
    }
    const Matrix fc1_gradient = product_with_transposed(backend, transposed(hidden_gradient), transposed(x));

    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const auto rate = static_cast<float>(options.rate * 0.5 * (1 + std::cos(std::numbers::pi * done)));
    fc1.step(fc1_gradient.values, rate);
    fc1_bias.step(column_sums(hidden_gradient), rate);
    fc2.step(fc2_gradient.values, rate);
    fc2_bias.step(column_sums(a.scores), rate);
    if (progress && !progress(static_cast<double>(step + 1) / static_cast<double>(steps),
                              loss / static_cast<double>(batch))) {
      break;
    }
  }
  for (const std::int32_t c : always) part.fc2_bias[static_cast<std::size_t>(c)] = kAlwaysScore;
}

RouterQuality router_quality(Backend& backend, const RouterExamples& examples, Range which,
                             const ClusterPart& part, const ClusterBudget& budget) {
  constexpr std::int64_t kBlock = 1024;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(part.clusters));
  for (const std::int32_t c : part.cluster_of) ++sizes[static_cast<std::size_t>(c)];
  std::vector<float> mass(sizes.size());
  std::vector<float> best_mass(sizes.size());
  TopKScratch scratch;
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<bool> marked(sizes.size());
  RouterQuality sum;
  for (std::int64_t first = which.begin; first < which.end; first += kBlock) {
    std::vector<std::int64_t> block(static_cast<std::size_t>(std::min(kBlock, which.end - first)));
    std::iota(block.begin(), block.end(), first);
    const Activations a = forward(backend, part, rows_of(examples, block));
    for (std::int64_t r = 0; r < std::ssize(block); ++r) {
      const std::int64_t example = first + r;
      cluster_mass(examples, example, part, mass.data());
      const std::int64_t count = budget.at(examples.steps[static_cast<std::size_t>(example)]);
      marked.assign(marked.size(), false);
      mark_best({a.scores.row(r), mass.size()}, count, scratch, indices, values, marked);
      for (std::size_t c = 0; c < marked.size(); ++c) {
        if (!marked[c]) continue;
        sum.mass += mass[c];
        sum.tokens += static_cast<double>(sizes[c]);
      }
      const TokenId best = examples.tokens[static_cast<std::size_t>(example * examples.top)];
      sum.best += marked[static_cast<std::size_t>(part.cluster_of[static_cast<std::size_t>(best)])] ? 1 : 0;
      best_mass = mass;
      const auto kept = std::min<std::int64_t>(count, std::ssize(best_mass));
      std::partial_sort(best_mass.begin(), best_mass.begin() + kept, best_mass.end(), std::greater<>());
      sum.oracle_mass += std::accumulate(best_mass.begin(), best_mass.begin() + kept, 0.0);
    }
  }
  const auto n = static_cast<double>(std::max<std::int64_t>(which.size(), 1));
  return {sum.mass / n, sum.oracle_mass / n, sum.best / n, sum.tokens / n};
}

}  // namespace augur
