#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "cli/validators.h"
#include "lab/bench/kernel_bench.h"
#include "lab/cli/bench_flags.h"
#include "lab/cli/commands.h"
#include "model/product_traversal.h"

namespace augur::cli {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

struct Options {
  KernelBenchOptions bench;
  BenchFlags flags;
};

void print(const KernelBenchResult& result, Output& out) {
  const bool floats = result.dtype == DType::BF16 || result.dtype == DType::F32;
  const std::string_view rate = floats ? "GFLOP/s" : "GOP/s";
  out.line(
      fmt::format("{}, {}, {} threads; {} weights, K {} N {}, plan {}\nread {:.1f} GB/s, peak {:.0f} {}\n\n"
                  "{:>5} {:>9} {:>8} {:>9} {:>9} {:>9}",
                  result.cpu, name(result.isa), result.threads, name(result.dtype), result.k, result.n,
                  to_string(result.traversal), result.read_gb_per_s, result.peak_gflops, rate, "rows", "ms",
                  "GB/s", rate, "x 1 row", "roofline"));
  for (const KernelBenchRow& row : result.gemm) {
    out.line(fmt::format("{:>5} {:>9.3f} {:>8.1f} {:>9.1f} {:>9.2f} {:>9.2f}", row.rows, row.ms, row.gb_per_s,
                         row.gflops, row.ratio_to_one_row, row.roofline_fraction));
  }
}

int bench_kernels(const Options& options) {
  Backend backend(options.flags.threads, options.flags.pin);
  Progress progress("measuring");
  const KernelBenchResult result = run_kernel_bench(backend, options.bench, [&](int done, int planned) {
    progress.update(static_cast<double>(done) / planned);
  });
  progress.done();
  report(options.flags, to_json(result), [&](Output& out) { print(result, out); });
  return 0;
}

}  // namespace

void add_bench_kernels(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "kernels", "The GEMM at several row counts, against this machine's bandwidth and multiply rate");
  command->add_option("--k", options->bench.k, "Columns of the weight")
      ->check(in_range<std::int64_t>(1, kMaxExtent))
      ->capture_default_str();
  command->add_option("--n", options->bench.n, "Rows of the weight")
      ->check(in_range<std::int64_t>(1, kMaxExtent))
      ->capture_default_str();
  add_choice<DType>(*command, "--dtype", options->bench.dtype,
                    {{"bf16", DType::BF16},
                     {"f32", DType::F32},
                     {"q8_0", DType::Q8_0},
                     {"q4_0", DType::Q4_0},
                     {"q4_1", DType::Q4_1},
                     {"q5_0", DType::Q5_0},
                     {"q5_1", DType::Q5_1},
                     {"q4_k", DType::Q4_K},
                     {"q5_k", DType::Q5_K},
                     {"q6_k", DType::Q6_K},
                     {"q3_k", DType::Q3_K},
                     {"q2_k", DType::Q2_K},
                     {"iq4_nl", DType::IQ4_NL},
                     {"iq4_xs", DType::IQ4_XS},
                     {"mxfp4", DType::MXFP4}},
                    "Type of the weights (default bf16)");
  command->add_option("--rows", options->bench.rows, "Row counts, separated by commas")
      ->delimiter(',')
      ->check(in_range(1, 4096))
      ->capture_default_str();
  command->add_option("--rounds", options->bench.rounds, "Measurements of each, at least")
      ->check(in_range(1, 100000))
      ->capture_default_str();
  command->add_option("--seconds", options->bench.seconds, "Go on for at least this long")
      ->check(in_range(0.0, 3600.0));
  command
      ->add_option_function<int>(
          "--cache", [options](int mib) { options->bench.cache_bytes = static_cast<std::size_t>(mib) << 20; },
          "Size of the largest cache in MiB, which is to be read past (default: what the system says)")
      ->check(in_range(1, 16384));
  add_bench_flags(*command, options->flags);
  command->callback([options, &action] { action = [options] { return bench_kernels(*options); }; });
}

}  // namespace augur::cli
