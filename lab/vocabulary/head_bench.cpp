#include "lab/vocabulary/head_bench.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/philox.h"
#include "model/cpu_device.h"
#include "vocab/vocabulary_head.h"

namespace augur {
namespace {

/// Uniform in (-1, 1).
void fill(std::span<float> values, std::uint64_t seed, std::uint32_t stream, std::int64_t row) {
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const auto bits = philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(row),
                                  static_cast<std::uint32_t>(row >> 32), stream},
                                 seed);
    for (std::size_t j = i; j < std::min(i + 4, values.size()); ++j) {
      values[j] = 2 * uniform_open(bits[j - i]) - 1;
    }
  }
}

PackedMatrix random_head(Backend& backend, const HeadBenchOptions& options) {
  PackedMatrix head(DType::BF16, options.entries, options.width);
  backend.pool.run([&](Team& team) {
    std::vector<float> row(static_cast<std::size_t>(options.width));
    const Range mine = team.split(options.entries, PackedMatrix::kPanel);
    for (std::int64_t r = mine.begin; r < mine.end; ++r) {
      fill(row, options.seed, 1, r);
      head.set_rows(r, row);
    }
  });
  return head;
}

/// Clusters of like size, and a router that is as wide as asked for and knows nothing.
ClusterPart random_clusters(const HeadBenchOptions& options) {
  ClusterPart part{.file = "random", .vocab = options.entries, .hidden = options.width};
  part.clusters = options.clusters;
  part.router_hidden = options.router_hidden;
  part.input = RouterInput::State;
  for (std::int64_t t = 0; t < part.vocab; ++t) {
    part.cluster_of.push_back(static_cast<std::int32_t>(t * part.clusters / part.vocab));
  }
  const auto take = std::max<std::int64_t>(1, options.size * part.clusters / part.vocab);
  part.budget = {take, take, false};
  const auto random = [&](std::vector<float>& values, std::int64_t count, std::uint32_t stream) {
    values.resize(static_cast<std::size_t>(count));
    fill(values, options.seed, stream, 0);
  };
  random(part.fc1_weight, part.router_hidden * part.inputs(), 2);
  random(part.fc1_bias, part.router_hidden, 3);
  random(part.fc2_weight, part.clusters * part.router_hidden, 4);
  random(part.fc2_bias, part.clusters, 5);
  return part;
}

TokenOrder random_order(const HeadBenchOptions& options) {
  TokenOrder order{.file = "random", .tokens = {}, .complete = true};
  order.tokens.resize(static_cast<std::size_t>(options.entries));
  std::iota(order.tokens.begin(), order.tokens.end(), 0);
  for (std::size_t i = order.tokens.size(); i > 1; --i) {
    const auto bits = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 6}, options.seed);
    std::swap(order.tokens[i - 1], order.tokens[bits[0] % i]);
  }
  return order;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

/// A router by itself, as make_cluster_shortlist() runs it.
class LoneRouter {
 public:
  LoneRouter(Backend& backend, const ClusterPart& part)
      : backend_(backend),
        router_(part, DType::BF16),
        inputs_(router_.input_form(), activation_stride(part.inputs()), 1) {}

  double ms(std::span<const HeadRow> rows) {
    const auto count = static_cast<int>(rows.size());
    router_.ensure(count);
    inputs_.ensure(count);
    const Stopwatch clock;
    backend_.pool.run([&](Team& team) {
      const Range mine = team.split(count);
      for (std::int64_t r = mine.begin; r < mine.end; ++r) {
        convert_row(rows[static_cast<std::size_t>(r)].state, router_.inputs(), router_.input_form(),
                    inputs_.row(r));
      }
      team.barrier();
      router_.run(team, backend_.kernels, count, inputs_.row(0), inputs_.stride());
    });
    return clock.ms();
  }

 private:
  Backend& backend_;
  ClusterRouter router_;
  RowBuffer inputs_;
};

}  // namespace

std::vector<HeadBenchRow> run_head_bench(Backend& backend, const HeadBenchOptions& options,
                                         const std::function<void(double)>& progress) {
  const PackedMatrix matrix = random_head(backend, options);
  CpuDevice device(backend);
  const HeadWeights weights{.device = &device, .matrix = &matrix, .usable = options.entries};
  const VocabularyChoice frequent(random_order(options), options.size, false);
  const ClusterPart clusters = random_clusters(options);
  const VocabularyChoice routed(clusters);
  LoneRouter router(backend, clusters);
  struct Kind {
    const char* name;
    VocabularyHead head;
  };
  std::vector<Kind> kinds;
  kinds.push_back({"full", VocabularyHead(weights)});
  kinds.push_back({"frspec", VocabularyHead(weights, &frequent)});
  kinds.push_back({"dynaspec", VocabularyHead(weights, &routed)});

  const auto most = static_cast<std::size_t>(std::ranges::max(options.beams));
  const auto width = static_cast<std::size_t>(options.width);
  std::vector<HeadBenchRow> rows;
  std::vector<float> states(most * width);
  std::vector<float> own(width);
  std::size_t done = 0;
  for (const int beams : options.beams) {
    std::vector<std::vector<double>> times(kinds.size());
    std::vector<double> routing;
    std::vector<double> columns(kinds.size());
    for (int round = 0; round <= options.repeats; ++round) {  // the first does not count
      std::vector<HeadRow> in;
      for (std::size_t b = 0; b < static_cast<std::size_t>(beams); ++b) {
        const std::span<float> state = std::span(states).subspan(b * width, width);
        fill(state, options.seed + static_cast<std::uint64_t>(round), 7, 0);
        fill(own, options.seed + static_cast<std::uint64_t>(round), 8, static_cast<std::int64_t>(b));
        for (std::size_t i = 0; i < width; ++i) state[i] += static_cast<float>(options.difference) * own[i];
        in.push_back({.state = state.data()});
      }
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        const Stopwatch clock;
        kinds[k].head.run(in, options.best);
        const double ms = clock.ms();
        // The whole head has just emptied the caches, and the next product will do it again.
        if (k == 0) routing.push_back(router.ms(in));
        if (round == 0) continue;
        times[k].push_back(ms);
        columns[k] += static_cast<double>(kinds[k].head.columns()) / options.repeats;
      }
      if (progress) {
        progress(static_cast<double>(++done) /
                 static_cast<double>(options.beams.size() * static_cast<std::size_t>(options.repeats + 1)));
      }
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const double ms = median(times[k]);
      rows.push_back({.vocabulary = kinds[k].name,
                      .beams = beams,
                      .columns = std::llround(columns[k]),
                      .ms = ms,
                      .router_ms = &kinds[k] == &kinds.back() ? median(routing) : 0.0,
                      .ratio = ms / median(times[0])});
    }
  }
  return rows;
}

}  // namespace augur
