#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "model/model.h"
#include "text/tokenizer.h"

namespace augur {

/// What `augur bench perplexity` measures, as llama.cpp's llama-perplexity does, so that figures compare: the
/// text's tokens are cut into chunks of `context`, each run from nothing (its first token replaced by BOS
/// where the tokenizer puts one), and the tokens of a chunk's second half are scored.
struct PerplexityOptions {
  std::int64_t context = 512;
  std::int64_t chunks = 0;  ///< at most; 0: all
};

struct PerplexityResult {
  std::string cpu;
  std::string isa;
  std::string weights;
  std::int64_t chunks = 0;
  std::int64_t context = 0;
  std::int64_t scored = 0;  ///< tokens
  double nll = 0;           ///< mean negative log-likelihood, nats
  double perplexity = 0;
  double error = 0;  ///< standard error of the perplexity
  double seconds = 0;
};

/// Called after every chunk.
using PerplexityProgress = std::function<void(const PerplexityResult& so_far, std::int64_t planned)>;

/// Error for a text of less than two chunks, or a context that the model does not have.
PerplexityResult run_perplexity(Model& model, const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                                const PerplexityOptions& options, const PerplexityProgress& progress = {});

nlohmann::json to_json(const PerplexityResult& result);

}  // namespace augur
