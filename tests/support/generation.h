#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decode/decoder.h"
#include "decode/sequence.h"
#include "draft/registry.h"
#include "support/stories.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"

namespace augur::testing_support {

/// Makes a fresh set of speculators for every sequence; empty: plain.
using SpeculatorFactory = std::function<std::vector<Speculator>()>;

struct GenerateOptions {
  SamplingParams sampling;
  std::int64_t tokens = 60;
  std::size_t parallel = 1;
  SpeculatorFactory speculators;
  int tree_nodes = 0;
  VerifyRule verification = VerifyRule::Walk;
  bool coupling = true;
  Decoder::Options decoder;
};

struct Generated {
  std::vector<std::vector<TokenId>> tokens;  ///< by prompt
  DecodeStatistics total;
};

/// Generates for every prompt, `parallel` at a time, the next one taking the place of one that ends.
inline Generated generate(Model& model, const std::vector<std::vector<TokenId>>& prompts,
                          const GenerateOptions& options) {
  Generated out;
  out.tokens.resize(prompts.size());
  Decoder decoder(model, options.decoder);
  std::vector<std::pair<std::size_t, std::unique_ptr<Sequence>>> running;
  for (std::size_t next = 0; next < prompts.size() || !running.empty();) {
    while (next < prompts.size() && running.size() < options.parallel) {
      SequenceOptions sequence;
      sequence.sampling = options.sampling;
      // Different prompts end at different times, so that places in the batch are taken over.
      sequence.max_tokens = options.tokens - static_cast<std::int64_t>(next % 3);
      if (options.speculators) sequence.speculators = options.speculators();
      sequence.tree_nodes = options.tree_nodes;
      sequence.verification = options.verification;
      sequence.coupling = options.coupling;
      running.emplace_back(next, std::make_unique<Sequence>(model, prompts[next], std::move(sequence)));
      ++next;
    }
    std::vector<Sequence*> batch;
    for (auto& [index, sequence] : running) batch.push_back(sequence.get());
    decoder.step(batch);
    std::erase_if(running, [&](auto& entry) {
      const Sequence& sequence = *entry.second;
      if (!sequence.finished()) return false;
      if (sequence.failure()) std::rethrow_exception(sequence.failure());
      out.tokens[entry.first].assign(sequence.generated().begin(), sequence.generated().end());
      out.total.calls += sequence.statistics().calls;
      out.total.generated_tokens += sequence.statistics().generated_tokens;
      out.total.accepted_tokens += sequence.statistics().accepted_tokens;
      out.total.drafted_tokens += sequence.statistics().drafted_tokens;
      out.total.verified_tokens += sequence.statistics().verified_tokens;
      return true;
    });
  }
  return out;
}

inline std::vector<Speculator> one(std::unique_ptr<Drafter> drafter, std::unique_ptr<TreePolicy> policy) {
  std::vector<Speculator> speculators;
  speculators.push_back({std::move(drafter), std::move(policy)});
  return speculators;
}

}  // namespace augur::testing_support
