#include "lab/bench/perplexity.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "kernels/ops.h"
#include "model/prefill.h"

namespace augur {

namespace {

/// Sums over the tokens scored so far.
struct Score {
  std::int64_t count = 0;
  double nll = 0;
  double nll_squared = 0;
};

class Scorer {
 public:
  Scorer(Model& model, std::int64_t context)
      : model_(model),
        context_(context),
        cache_(model.make_cache(context)),
        stride_((model.config().vocab + 15) / 16 * 16),
        logits_(static_cast<std::size_t>(kRows * stride_)) {}

  /// Adds the second half of a chunk.
  void add(std::span<const TokenId> chunk, Score& score) {
    PrefillOptions how;
    how.rows_done = [&](std::int64_t first, std::span<const float> hidden) {
      const std::int64_t width = model_.config().hidden;
      const std::int64_t end = std::min(first + std::ssize(hidden) / width, context_ - 1);
      for (std::int64_t at = std::max(first, context_ / 2); at < end; at += kRows) {
        const int count = static_cast<int>(std::min<std::int64_t>(kRows, end - at));
        model_.logits_of(hidden.data() + (at - first) * width, count, false, logits_.data(), stride_);
        for (int r = 0; r < count; ++r) {
          const float* row = logits_.data() + r * stride_;
          const TokenId next = chunk[static_cast<std::size_t>(at + r + 1)];
          const double nll = static_cast<double>(log_sum_exp(row, model_.config().vocab)) - row[next];
          ++score.count;
          score.nll += nll;
          score.nll_squared += nll * nll;
        }
      }
    };
    // forward() results are read before the next one: logits_of() works in buffers of its own.
    cache_.truncate(0);
    prefill(model_, chunk, cache_, how);
  }

 private:
  static constexpr std::int64_t kRows = 64;

  Model& model_;
  std::int64_t context_;
  KvCache cache_;
  std::int64_t stride_;
  Buffer<float> logits_;
};

void conclude(const Score& score, PerplexityResult& out) {
  const auto n = static_cast<double>(score.count);
  out.scored = score.count;
  out.nll = score.nll / n;
  out.perplexity = std::exp(out.nll);
  const double variance = score.nll_squared / n - out.nll * out.nll;
  out.error = variance > 0 && n > 1 ? out.perplexity * std::sqrt(variance / (n - 1)) : 0.0;
}

}  // namespace

PerplexityResult run_perplexity(Model& model, const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                                const PerplexityOptions& options, const PerplexityProgress& progress) {
  if (options.context < 4)
    throw Error("perplexity: chunks of {} tokens (expected 4 or more)", options.context);
  if (options.context > model.context()) {
    throw Error("perplexity: chunks of {} tokens, the model's context is {}", options.context,
                model.context());
  }
  std::int64_t chunks = std::ssize(tokens) / options.context;
  if (chunks < 2) {
    throw Error("perplexity: the text has {} tokens, {} are needed", tokens.size(), 2 * options.context);
  }
  if (options.chunks > 0) chunks = std::min(chunks, options.chunks);
  PerplexityResult result{.cpu = cpu_model_name(),
                          .isa = std::string(name(model.backend().kernels.isa)),
                          .weights = model.weight_types(),
                          .context = options.context};
  Scorer scorer(model, options.context);
  Score score;
  const Stopwatch watch;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const auto part = tokens.subspan(static_cast<std::size_t>(i * options.context),
                                     static_cast<std::size_t>(options.context));
    std::vector<TokenId> chunk(part.begin(), part.end());
    if (tokenizer.add_bos && tokenizer.bos) chunk.front() = *tokenizer.bos;
    scorer.add(chunk, score);
    conclude(score, result);
    result.chunks = i + 1;
    result.seconds = watch.ms() * 1e-3;
    if (progress) progress(result, chunks);
  }
  return result;
}

nlohmann::json to_json(const PerplexityResult& result) {
  return {{"cpu", result.cpu},         {"isa", result.isa},
          {"weights", result.weights}, {"chunks", result.chunks},
          {"context", result.context}, {"scored", result.scored},
          {"nll", result.nll},         {"perplexity", result.perplexity},
          {"error", result.error},     {"seconds", result.seconds}};
}

}  // namespace augur
