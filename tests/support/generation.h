#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decode/decoder.h"
#include "decode/sequence.h"
#include "draft/registry.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "policy/registry.h"
#include "support/stories.h"

namespace augur::testing_support {

/// Makes a fresh set of speculators for every sequence; empty: plain.
using SpeculatorFactory = std::function<std::vector<Speculator>()>;

struct GenerateOptions {
  SamplingOptions sampling;
  std::int64_t tokens = 60;
  std::size_t parallel = 1;
  SpeculatorFactory speculators;
  PolicyModel* policy = nullptr;        ///< steers the speculators, which then need no policies of their own
  void (*costs)(CostModel&) = nullptr;  ///< what the decoder is to take things to cost, at first
  int tree_nodes = 0;
  Verification verification = Verification::Walk;
  bool coupling = true;
  /// What the texts have to be; empty: anything.
  std::function<std::unique_ptr<TokenConstraint>()> constraint;
  std::vector<TokenId> eos;  ///< that end a text
  std::string owner;         ///< of the texts
  bool keep_text = true;
  Decoder::Options decoder;
};

struct Generated {
  std::vector<std::vector<TokenId>> tokens;  ///< by prompt
  SpeculationStatistics total;               ///< counts of all, and their mean accepted length
};

/// A target whose rows cost nearly nothing beside the step, and drafters that cost nearly nothing: on any
/// machine, and with a draft model as large as its target, large trees are taken to pay. The step is faster
/// than any real one, so that plain decoding at that rate is the price of time.
inline void cheap_drafts(CostModel& costs) {
  for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, 0.02 + 1e-5 * rows);
  costs.other_curve().set(1, 1e-4);
  for (const DrafterType& type : drafter_types()) {
    DraftCosts& drafter = costs.drafter(type.name);
    for (const double rows : CostCurve::kRows) {
      drafter.root().set(rows, 1e-3);
      drafter.levels().set(rows, 1e-3);
    }
  }
}

/// Generates for every prompt, `parallel` at a time, the next one taking the place of one that ends.
inline Generated generate(Model& model, const std::vector<std::vector<TokenId>>& prompts,
                          const GenerateOptions& options) {
  Generated out;
  out.tokens.resize(prompts.size());
  std::size_t generated = 0;
  Decoder decoder(model, options.decoder);
  if (options.costs) options.costs(decoder.costs());
  std::vector<std::pair<std::size_t, std::unique_ptr<Sequence>>> running;
  for (std::size_t next = 0; next < prompts.size() || !running.empty();) {
    while (next < prompts.size() && running.size() < options.parallel) {
      SequenceOptions sequence;
      sequence.sampling = options.sampling;
      // Different prompts end at different times, so that places in the batch are taken over.
      sequence.max_tokens = options.tokens - static_cast<std::int64_t>(next % 3);
      if (options.speculators) sequence.speculation.drafters = options.speculators();
      if (options.policy) sequence.speculation.steer_by(*options.policy);
      sequence.speculation.steering.tree_nodes = options.tree_nodes;
      sequence.verification = options.verification;
      sequence.coupling = options.coupling;
      if (options.constraint) sequence.constraint = options.constraint();
      sequence.eos = options.eos;
      sequence.owner = options.owner;
      sequence.keep_text = options.keep_text;
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
      out.total.add(sequence.statistics());
      generated += sequence.generated().size();
      return true;
    });
  }
  if (out.total.calls > 0) {
    out.total.mean_accepted_length = static_cast<double>(generated) / static_cast<double>(out.total.calls);
  }
  return out;
}

inline std::vector<Speculator> one(std::unique_ptr<Drafter> drafter, std::unique_ptr<TreePolicy> policy) {
  std::vector<Speculator> speculators;
  speculators.push_back({std::move(drafter), std::move(policy)});
  return speculators;
}

}  // namespace augur::testing_support
