#include "engine/generation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/elementary.h"
#include "base/error.h"
#include "base/own_environment.h"
#include "engine/memory_check.h"
#include "engine/owner_name.h"
#include "engine/thought_constraint.h"

namespace augur {
namespace {

/// The request's, without the tokens that the model is not to write; it may be kept from ending the text.
SamplingOptions sampling_of(const Request& request, const GenerationContext& context) {
  SamplingOptions sampling = request.sampling;
  const auto forbid = [&](TokenId id) {
    if (id < context.target.config().vocab)
      sampling.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  };
  std::for_each(context.suppressed.begin(), context.suppressed.end(), forbid);
  const std::vector<TokenId>& ends = context.tokenizer.eos;
  if (request.ignore_eos) std::for_each(ends.begin(), ends.end(), forbid);
  return sampling;
}

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

/// Slots for drafted tokens in a cache, beyond the text's own.
std::int64_t draft_slots(const PolicyModel* policy) {
  constexpr std::int64_t kUsualSlots = 512;
  if (policy == nullptr) return kUsualSlots;
  const TreeBounds bounds = policy->bounds();
  return std::max(kUsualSlots, bounds.batch > 0 ? bounds.batch : 2 * bounds.nodes.count);
}

/// What is wrong with a request's grammar is said to be of its field.
std::shared_ptr<const CompiledGrammar> compiled(const Grammar& grammar, GrammarCompiler& compiler) {
  try {
    return compiler.compile(grammar);
  } catch (const Error& error) {
    if (!error.field().empty()) throw;
    throw Error({error.kind(), grammar.field}, std::string(error.what()));
  }
}

/// Makes the plan's drafters, and `beside` (drafter_beside()) if there is one, for the policy to steer. Each
/// has its turn in a batch, which nothing but the plan's set of drafters decides: one controller has texts
/// with `beside` and without, so its turn is left free where it is not there.
Speculation make_speculation(const Drafters& drafters, const SpeculationPlan& plan, std::string_view beside,
                             PolicyModel& policy, const Drafters::SequenceSpec& text) {
  Speculation speculation;
  std::vector<Speculator>& made = speculation.drafters;
  const auto make = [&](const std::string& name) {
    return Speculator{.drafter = drafters.make(name, plan, text),
                      .policy = nullptr,
                      .name = name,
                      .alone = drafters.custom(name)};
  };
  for (const std::string& name : drafters_of(plan)) made.push_back(make(name));
  auto place = made.end();
  if (policy.lookups_first()) {
    std::sort(made.begin(), made.end(),
              [](const Speculator& a, const Speculator& b) { return a.name < b.name; });
    place = std::stable_partition(made.begin(), made.end(),
                                  [](const Speculator& s) { return !s.drafter->traits().has_probabilities; });
  }
  const auto turn_of_beside = static_cast<int>(place - made.begin());
  for (int i = 0; i < std::ssize(made); ++i)
    made[static_cast<std::size_t>(i)].turn = i + (i >= turn_of_beside);
  if (!beside.empty()) made.insert(place, make(std::string(beside)))->turn = turn_of_beside;
  speculation.steer_by(policy);
  return speculation;
}

}  // namespace

Generation::Generation(const GenerationContext& context, const Request& request, std::vector<TokenId> prompt,
                       const SpeculationPlan& plan, std::shared_ptr<PolicyModel> policy,
                       const TokenCallback& on_token)
    : policy_(std::move(policy)),
      on_token_(on_token),
      cancel_(request.cancel),
      text_stream_(context.tokenizer, prompt, request.stop,
                   StreamDecoder(context.tokenizer, request.show_special, request.shown_tokens)) {
  SequenceOptions options;
  options.sampling = sampling_of(request, context);
  if (!request.ignore_eos) options.eos = context.tokenizer.eos;
  if (request.grammar) {
    if (request.ignore_eos)
      throw Error(refused("ignore_eos"),
                  "ignore_eos: a grammar says where the text ends, so they don't go together");
    const auto grammar = context.grammar ? context.grammar : compiled(*request.grammar, context.grammars);
    options.constraint = grammar->begin();
    grammar_field_ = request.grammar->field;
    warnings_ = grammar->warnings();
  }
  if (request.thoughts &&
      (request.thoughts->most_tokens >= 0 || (request.thoughts->begun && request.grammar)))
    options.constraint = std::make_unique<ThoughtConstraint>(
        context.tokenizer, context.target.config().vocab, *request.thoughts, std::move(options.constraint));
  for (const LogitsProcessor& processor : request.logits_processors)
    options.logits_processors.push_back(hosted(processor));
  options.owner = owner_name(context.tenant, request.cache_salt);
  options.reuse_prefix = request.cache_prompt;
  options.keep_text = request.cache_prompt;
  options.max_tokens = request.max_tokens;
  options.context = context.context;
  const std::int64_t tokens = request.max_tokens < 0 ? context.context : request.max_tokens;
  const std::int64_t text = std::ssize(prompt) + std::min(tokens, context.context);
  options.tree_slots = draft_slots(policy_.get());
  if (policy_ != nullptr) {
    const std::int64_t capacity = std::min(context.context, text + options.tree_slots);
    options.speculation =
        make_speculation(context.drafters, plan, drafter_beside(plan, request.grammar.has_value()), *policy_,
                         {.tokens = capacity, .owner = options.owner, .keep_output = options.keep_text});
  }
  for (const Speculator& s : options.speculation.drafters) proposer_names_.push_back(s.name);
  options.verification = plan.verification;
  options.coupling = plan.coupling;
  options.noise_rows = noise_rows(context.target.config().vocab, context.parallel);
  options.tpot_ms = request.tpot_ms;
  options.logprobs = request.logprobs;
  options.sampled_logprobs = request.sampled_logprobs;
  options.prompt_logprobs = request.logprobs >= 0 && request.prompt_logprobs;
  options.on_token = [this](const EmittedToken& token) { return take(token); };
  if (request.on_prefill) {
    options.on_prefill = [on_prefill = request.on_prefill](std::int64_t done, std::int64_t total) {
      const HostEnvironment host;
      on_prefill(done, total);
    };
  }
  if (request.on_round) {
    options.on_step = [this, on_round = request.on_round](const StepTrace& step) { tell(step, on_round); };
  }
  if (context.prepare) context.prepare(options);
  sequence_ = std::make_unique<Sequence>(context.target, std::move(prompt), std::move(options));
}

AfterToken Generation::take(const EmittedToken& token) {
  const std::string piece = text_stream_.push(token.token);
  text_ += piece;
  if (token.logprobs != nullptr) logprobs_.push_back(*token.logprobs);
  bool go_on = true;
  if (on_token_) {
    const HostEnvironment host;
    go_on = on_token_({.token = token.token,
                       .text = piece,
                       .proposer = proposer_name(token.proposer),
                       .depth = token.depth,
                       .logprobs = token.logprobs});
  }
  if (text_stream_.stopped()) return AfterToken::Stop;
  return go_on ? AfterToken::Continue : AfterToken::Cancel;
}

std::string_view Generation::proposer_name(ProposerId proposer) const {
  return proposer == kTargetProposer ? std::string_view() : proposer_names_[proposer - 1u];
}

void Generation::tell(const StepTrace& step, const RoundCallback& on_round) {
  const DraftTree& tree = *step.tree;
  round_.nodes.clear();
  for (std::size_t i = 0; i < tree.tokens().size(); ++i) {
    round_.nodes.push_back({.token = tree.tokens()[i],
                            .parent = tree.parents()[i],
                            .proposer = proposer_name(tree.proposers()[i]),
                            .probability = elementary::exp(static_cast<double>(tree.log_probs()[i]))});
  }
  for (const std::int32_t node : step.path) round_.nodes[static_cast<std::size_t>(node)].accepted = true;
  static_cast<RoundFigures&>(round_) = step;
  const HostEnvironment host;
  on_round(round_);
}

void Generation::poll_cancel() {
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed) && !sequence_->finished()) {
    sequence_->cancel();
  }
}

/// Of what its grammar takes, the request is to blame.
void Generation::rethrow(const std::exception_ptr& failure) const {
  try {
    std::rethrow_exception(failure);
  } catch (const GrammarTooDear& error) {
    throw Error(refused(grammar_field_), std::string(error.what()));
  }
}

Result Generation::finish() {
  if (sequence_->failure()) rethrow(sequence_->failure());
  const std::string rest = text_stream_.flush();
  text_ += rest;
  if (on_token_ && !rest.empty()) {
    const HostEnvironment host;
    on_token_({.text = rest});
  }
  return result();
}

Result Generation::so_far() noexcept {
  try {
    return result();
  } catch (...) {
    return {};  // there is no memory for it
  }
}

Result Generation::result() {
  Result result;
  result.text = std::move(text_);
  result.tokens.assign(sequence_->generated().begin(), sequence_->generated().end());
  result.logprobs = std::move(logprobs_);
  result.prompt_logprobs.assign(sequence_->prompt_logprobs().begin(), sequence_->prompt_logprobs().end());
  result.prompt_tokens = static_cast<std::int64_t>(sequence_->prompt_size());
  result.cached_tokens = sequence_->cached_tokens();
  result.prompt_ms = sequence_->prompt_ms();
  result.decode_ms = sequence_->decode_ms();
  if (result.decode_ms > 0) {
    result.tokens_per_second = 1000.0 * static_cast<double>(result.tokens.size()) / result.decode_ms;
  }
  result.finish_reason = sequence_->finish_reason();
  result.stop_string = text_stream_.stop_string();
  result.warnings = warnings_;
  result.speculation = sequence_->statistics();
  if (!proposer_names_.empty()) result.speculation.type = join(proposer_names_);
  return result;
}

}  // namespace augur
