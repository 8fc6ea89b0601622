#include "api/generation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "tree/tree_shapes.h"

namespace augur {
namespace {

SamplingParams sampling_params(const Request& request, const Tokenizer& tokenizer) {
  const SamplingOptions& from = request.sampling;
  SamplingParams to;
  to.temperature = static_cast<float>(from.temperature);
  to.top_k = from.top_k;
  to.top_p = static_cast<float>(from.top_p);
  to.min_p = static_cast<float>(from.min_p);
  to.repetition_penalty = static_cast<float>(from.repetition_penalty);
  to.presence_penalty = static_cast<float>(from.presence_penalty);
  to.frequency_penalty = static_cast<float>(from.frequency_penalty);
  to.repeat_last_n = from.penalty_window;
  to.logit_bias = from.logit_bias;
  to.seed = from.seed;
  if (request.ignore_eos) {
    for (const TokenId id : tokenizer.eos)
      to.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  }
  return to;
}

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

/// Slots for drafted tokens in a cache, beyond the text's own.
std::int64_t draft_slots(const PolicyModel& policy) {
  constexpr std::int64_t kUsual = 512;
  return std::max(kUsual, 2 * policy.most_nodes());
}

struct NamedDrafter {
  std::string name;
  std::unique_ptr<Drafter> drafter;
};

std::vector<NamedDrafter> make_drafters(const GenerationContext& context, const SpeculationOptions& options,
                                        std::int64_t capacity) {
  std::vector<NamedDrafter> drafters;
  for (const std::string& name : drafter_names(options)) {
    const auto loaded = std::find_if(context.drafters.begin(), context.drafters.end(),
                                     [&](const LoadedDrafter& d) { return d.name == name; });
    drafters.push_back({name, loaded->model->make({.ngram_min = options.ngram_min,
                                                   .ngram_max = options.ngram_max,
                                                   .exit_layer = options.exit_layer,
                                                   .context = capacity})});
  }
  return drafters;
}

/// Hands the drafters over to the policy's steering.
void steer(PolicyModel& policy, std::vector<NamedDrafter> drafters, SequenceOptions& options) {
  std::vector<DrafterSeat> seats;
  for (const NamedDrafter& d : drafters) seats.push_back({d.name, d.drafter->traits()});
  SequencePolicies policies = policy.make_all(seats);
  for (std::size_t i = 0; i < drafters.size(); ++i) {
    options.speculators.push_back({std::move(drafters[i].drafter), std::move(policies.by_drafter[i])});
  }
  options.controller = std::move(policies.controller);
  options.controlled = std::move(policies.text);
  // Several drafters share the nodes that one would have. Chains and fixed shapes add up.
  options.tree_nodes = policy.merged_nodes();
}

void check_range(const char* option, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) throw Error("{} is {}: expected {} to {}", option, value, low, high);
}

}  // namespace

std::vector<std::string> drafter_names(const SpeculationOptions& options) {
  std::vector<std::string> names;
  for (const std::string& type : options.types) {
    if (type == "none") {
      if (options.types.size() > 1) throw Error("speculation type 'none' excludes others");
      return {};
    }
    const std::string name(find_drafter_type(type).name);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error("speculation type '{}' is given twice", type);
    }
    names.push_back(name);
  }
  return names;
}

void check_speculation(const SpeculationOptions& options, std::span<const LoadedDrafter> drafters) {
  constexpr int kMost = 1 << 16;
  check_range("the longest draft (draft_max)", options.draft_max, 1, kMost);
  check_range("the shortest draft (draft_min)", options.draft_min, 0, options.draft_max);
  check_range("the tree's candidates per node (tree_topk)", options.tree_topk, 0, kMost);
  check_range("the tree's depth (tree_depth)", options.tree_depth, 0, kMost);
  if (options.tree_size != 0) check_range("the tree's size (tree_size)", options.tree_size, 2, kMost);
  check_range("the shortest n-gram (ngram_min)", options.ngram_min, 1, 64);
  check_range("the longest n-gram (ngram_max)", options.ngram_max, options.ngram_min, 64);
  if (!(options.draft_p_min >= 0.0 && options.draft_p_min <= 1.0)) {
    throw Error("the lowest draft probability (draft_p_min) is {}: expected 0 to 1", options.draft_p_min);
  }
  if (!options.static_tree.empty()) {
    load_tree_paths(options.static_tree);
    if (!options.policy.empty() && !options.policy.starts_with("static"))
      throw Error("policy '{}' has no use for a fixed tree (static_tree): expected static", options.policy);
  }
  for (const std::string& name : drafter_names(options)) {
    const bool loaded =
        std::any_of(drafters.begin(), drafters.end(), [&](const LoadedDrafter& d) { return d.name == name; });
    if (!loaded) throw Error("speculation type '{}' needs a draft model, and none was given", name);
  }
}

Generation::Generation(const GenerationContext& context, const Request& request, std::vector<TokenId> prompt,
                       const SpeculationOptions& speculation, const TokenCallback& on_token)
    : on_token_(on_token),
      cancel_(request.cancel),
      text_stream_(context.tokenizer, prompt, request.stop, request.show_special) {
  check_speculation(speculation, context.drafters);
  policy_ = context.policies.get(speculation).policy;
  SequenceOptions options;
  options.sampling = sampling_params(request, context.tokenizer);
  if (!request.ignore_eos) options.eos = context.tokenizer.eos;
  options.max_tokens = request.max_tokens;
  options.context = context.context;
  const std::int64_t tokens = request.max_tokens < 0 ? context.context : request.max_tokens;
  const std::int64_t text = std::ssize(prompt) + std::min(tokens, context.context);
  options.tree_slots = draft_slots(*policy_);
  std::vector<NamedDrafter> drafters =
      make_drafters(context, speculation, std::min(context.context, text + options.tree_slots));
  if (policy_->lookups_first()) {
    std::stable_partition(drafters.begin(), drafters.end(),
                          [](const NamedDrafter& d) { return !d.drafter->traits().has_probabilities; });
  }
  for (const NamedDrafter& d : drafters) proposer_names_.push_back(d.name);
  steer(*policy_, std::move(drafters), options);
  options.verification =
      speculation.verification == Verification::Walk ? VerifyRule::Walk : VerifyRule::Rejection;
  options.coupling = speculation.coupling;
  options.on_token = [this](const EmittedToken& token) { return take(token); };
  options.on_prefill = request.on_prefill;
  if (context.prepare) context.prepare(options);
  sequence_ = std::make_unique<Sequence>(context.target, std::move(prompt), std::move(options));
}

AfterToken Generation::take(const EmittedToken& token) {
  const std::string piece = text_stream_.push(token.token);
  text_ += piece;
  bool go_on = true;
  if (on_token_) {
    const std::string_view proposer =
        token.proposer == kTargetProposer ? std::string_view{} : proposer_names_[token.proposer - 1u];
    go_on = on_token_({.token = token.token, .text = piece, .proposer = proposer, .depth = token.depth});
  }
  if (text_stream_.stopped()) return AfterToken::Stop;
  return go_on ? AfterToken::Continue : AfterToken::Cancel;
}

void Generation::poll_cancel() {
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed) && !sequence_->finished()) {
    sequence_->cancel();
  }
}

Result Generation::finish() {
  if (sequence_->failure()) std::rethrow_exception(sequence_->failure());
  const std::string rest = text_stream_.flush();
  text_ += rest;
  if (on_token_ && !rest.empty()) on_token_({.text = rest});

  const DecodeStatistics& from = sequence_->statistics();
  Result result;
  result.text = std::move(text_);
  result.tokens.assign(sequence_->generated().begin(), sequence_->generated().end());
  result.prompt_tokens = static_cast<std::int64_t>(sequence_->prompt_size());
  result.prompt_ms = from.prompt_ms;
  result.decode_ms = from.decode_ms;
  if (from.decode_ms > 0) {
    result.tokens_per_second = 1000.0 * static_cast<double>(result.tokens.size()) / from.decode_ms;
  }
  switch (sequence_->finish_reason()) {
    case FinishReason::Stop:
      result.finish_reason = "stop";
      break;
    case FinishReason::Length:
      result.finish_reason = "length";
      break;
    default:
      result.finish_reason = "cancelled";
      break;
  }
  SpeculationStatistics& to = result.speculation;
  to.type = proposer_names_.empty() ? "none" : join(proposer_names_);
  to.calls = from.calls;
  to.verified_tokens = from.verified_tokens;
  to.drafted_tokens = from.drafted_tokens;
  to.accepted_tokens = from.accepted_tokens;
  to.mean_accepted_length = from.mean_accepted_length();
  to.accepted_per_position = from.accepted_per_position;
  to.draft_ms = from.draft_ms;
  to.verify_ms = from.verify_ms;
  to.other_ms = from.other_ms;
  return result;
}

}  // namespace augur
