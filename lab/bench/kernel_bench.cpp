#include "lab/bench/kernel_bench.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "kernels/ops.h"
#include "kernels/quant_rows.h"
#include "kernels/quantize.h"
#include "lab/bench/machine_probe.h"
#include "model/product_traversal.h"

namespace augur {

namespace {

void check(const KernelBenchOptions& options) {
  if (options.k < 1 || options.n < 1) {
    throw Error("bench kernels: {}x{} is not a shape", options.k, options.n);
  }
  if (options.rows.empty()) throw Error("bench kernels: no row counts");
  for (const int rows : options.rows) {
    if (rows < 1 || rows > 65536) throw Error("bench kernels: {} rows (expected 1 to 65536)", rows);
  }
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<float> random_values(std::size_t count, std::uint32_t seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(count);
  for (float& v : values) v = uniform(random);
  return values;
}

/// Weights, activations and output of one benchmark.
class Workload {
 public:
  Workload(Backend& backend, const KernelBenchOptions& options) : backend_(backend) {
    const PackedMatrix shape(options.dtype, options.n, options.k);
    const auto wanted = static_cast<std::int64_t>(4 * options.cache_bytes);
    const std::int64_t copies = std::max<std::int64_t>(1, (wanted + shape.bytes() - 1) / shape.bytes());
    for (std::int64_t c = 0; c < copies; ++c) weights_.push_back(random_weights(options));

    const int most_rows = *std::max_element(options.rows.begin(), options.rows.end());
    x_stride_ = activation_stride(options.k);
    y_stride_ = shape.panels() * PackedMatrix::kPanel;
    const std::int64_t row = row_bytes(shape.input_form(), x_stride_);
    x_ = Buffer<std::byte>(static_cast<std::size_t>(most_rows * row));
    y_ = Buffer<float>(static_cast<std::size_t>(most_rows * y_stride_));
    const std::vector<float> values = random_values(static_cast<std::size_t>(most_rows * options.k), 2);
    for (std::int64_t r = 0; r < most_rows; ++r) {
      convert_row(values.data() + r * options.k, options.k, shape.input_form(), x_.data() + r * row);
    }
  }

  std::vector<const PackedMatrix*> matrices() const {
    std::vector<const PackedMatrix*> all;
    for (const PackedMatrix& matrix : weights_) all.push_back(&matrix);
    return all;
  }
  std::int64_t weight_bytes() const { return weights_.front().bytes(); }

  /// The copy that has not been read for longest.
  const PackedMatrix& next() { return weights_[turn_++ % weights_.size()]; }

  double gemm_ms(int rows) {
    const PackedMatrix& weight = next();
    const GemmCall call{.weight = &weight,
                        .x = x_.data(),
                        .x_stride = x_stride_,
                        .rows = rows,
                        .y = y_.data(),
                        .y_stride = y_stride_};
    return time_region(backend_.pool,
                       [&](Team& team) { backend_.kernels.gemm(call, team.split(weight.panels())); });
  }

 private:
  /// Some random rows over and over: drawing them all would take longer than the benchmark.
  PackedMatrix random_weights(const KernelBenchOptions& options) {
    constexpr std::int64_t kDistinct = 16;
    const std::vector<float> values = random_values(static_cast<std::size_t>(kDistinct * options.k), 1);
    PackedMatrix weight(options.dtype, options.n, options.k);
    std::vector<std::byte> stored;
    if (weight.quantized()) {
      const BlockShape block = block_shape(options.dtype);
      stored.resize(values.size() / static_cast<std::size_t>(block.elements) *
                    static_cast<std::size_t>(block.bytes));
      quantize_blocks(options.dtype, values.data(), std::ssize(values), stored.data());
    }
    backend_.pool.run([&](Team& team) {
      const Range rows = team.split(options.n, kDistinct);
      for (std::int64_t first = rows.begin; first < rows.end; first += kDistinct) {
        const auto count = static_cast<std::size_t>(std::min(kDistinct, rows.end - first));
        if (weight.quantized()) {
          weight.set_stored_rows(first, std::span(stored).first(stored.size() / kDistinct * count));
        } else {
          weight.set_rows(first, std::span(values).first(count * static_cast<std::size_t>(options.k)));
        }
      }
    });
    return weight;
  }

  Backend& backend_;
  std::vector<PackedMatrix> weights_;
  std::size_t turn_ = 0;
  Buffer<std::byte> x_;
  Buffer<float> y_;
  std::int64_t x_stride_ = 0;
  std::int64_t y_stride_ = 0;
};

}  // namespace

KernelBenchResult run_kernel_bench(Backend& backend, const KernelBenchOptions& options,
                                   const KernelBenchProgress& progress) {
  check(options);
  Workload work(backend, options);
  const std::optional<GemmTraversal> forced = forced_traversal();
  const GemmTraversal traversal =
      forced ? *forced : fastest_traversal(backend, work.matrices()).value_or(ChosenTraversal{}).traversal;
  backend.kernels.traversals.set(options.dtype, traversal);
  ReadProbe read(backend.pool, options.cache_bytes);
  double one_row_ms = 0;  // set below; measured even where 1 is not among the wanted counts
  std::vector<int> counts = options.rows;
  if (std::find(counts.begin(), counts.end(), 1) == counts.end()) counts.insert(counts.begin(), 1);
  for (const int rows : counts) work.gemm_ms(rows);

  const auto bytes = static_cast<double>(work.weight_bytes());
  const auto flops = [&](int rows) {
    return 2.0 * rows * static_cast<double>(options.n) * static_cast<double>(options.k);
  };
  std::vector<double> bandwidth;
  std::vector<double> peak;
  std::vector<std::vector<double>> times(counts.size());
  std::vector<std::vector<double>> fractions(counts.size());
  const Stopwatch watch;
  for (int round = 0; round < options.rounds || watch.ms() < 1e3 * options.seconds; ++round) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      bandwidth.push_back(read.measure());
      peak.push_back(measure_peak_gflops(backend, options.dtype));
      times[i].push_back(work.gemm_ms(counts[i]));
      const double limit_ms = std::max(bytes / bandwidth.back(), flops(counts[i]) / peak.back()) * 1e-6;
      fractions[i].push_back(limit_ms / times[i].back());
    }
    if (progress) progress(round + 1, std::max(round + 1, options.rounds));
  }

  KernelBenchResult result{.cpu = cpu_model_name(),
                           .isa = backend.kernels.isa,
                           .threads = backend.pool.size(),
                           .dtype = options.dtype,
                           .k = options.k,
                           .n = options.n,
                           .read_gb_per_s = median(bandwidth),
                           .peak_gflops = median(peak),
                           .traversal = traversal,
                           .gemm = {}};
  const auto one = std::find(counts.begin(), counts.end(), 1);
  one_row_ms = median(times[static_cast<std::size_t>(one - counts.begin())]);
  for (const int rows : options.rows) {
    const auto index =
        static_cast<std::size_t>(std::find(counts.begin(), counts.end(), rows) - counts.begin());
    const double ms = median(times[index]);
    result.gemm.push_back({.rows = rows,
                           .ms = ms,
                           .gb_per_s = bytes / ms * 1e-6,
                           .gflops = flops(rows) / ms * 1e-6,
                           .ratio_to_one_row = ms / one_row_ms,
                           .roofline_fraction = median(fractions[index])});
  }
  return result;
}

nlohmann::json to_json(const KernelBenchResult& result) {
  nlohmann::json gemm = nlohmann::json::array();
  for (const KernelBenchRow& row : result.gemm) {
    gemm.push_back({{"rows", row.rows},
                    {"ms", row.ms},
                    {"gb_per_s", row.gb_per_s},
                    {"gflops", row.gflops},
                    {"ratio_to_one_row", row.ratio_to_one_row},
                    {"roofline_fraction", row.roofline_fraction}});
  }
  return {{"cpu", result.cpu},
          {"isa", name(result.isa)},
          {"threads", result.threads},
          {"dtype", lower_case(name(result.dtype))},
          {"plan", to_string(result.traversal)},
          {"k", result.k},
          {"n", result.n},
          {"read_gb_per_s", result.read_gb_per_s},
          {"peak_gflops", result.peak_gflops},
          {"gemm", std::move(gemm)}};
}

}  // namespace augur
