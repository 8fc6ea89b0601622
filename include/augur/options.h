#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/draft_round.h"
#include "augur/enums.h"
#include "augur/message.h"
#include "augur/plan.h"
#include "augur/sampling_options.h"
#include "augur/template_limits.h"

namespace augur {

/// What compiling one grammar may cost; what goes beyond it is refused.
struct GrammarBudget {
  double seconds = 2;                           ///< of one core, more than 0
  std::int64_t bytes = std::int64_t{64} << 20;  ///< held at a time, more than 0
};

struct EngineOptions {
  std::string model;  ///< Hugging Face folder or GGUF file
  /// The same, or the folder of a draft head, for the types that need one; empty: the model's own layers that
  /// draft, where it has such and `speculation` names none or their type, otherwise none. Its type is the one
  /// that `speculation` names, otherwise what its files say; the model's own path stands for those layers.
  /// What was learned for it, policies' parts and
  /// draft vocabularies, is found in its folder, for a file in a folder beside it of the file's name without
  /// ending.
  std::string draft_model;
  /// Further ones, which a plan names as "@NAME": each with a name of its own (letters, digits, '.', '_' and
  /// '-'). Their type is what their files say; they compute their whole vocabulary.
  struct NamedDraftModel {
    std::string name;
    std::string path;
    /// "NAME=PATH". Error for what is not.
    static NamedDraftModel parse(std::string_view text);
  };
  std::vector<NamedDraftModel> draft_models;
  /// A file made by `augur datastore build`, which type "suffix" retrieves continuations from; empty: none.
  std::string datastore;
  int threads = 0;  ///< 0: one per core, or as many as control groups grant the time of
  bool pin_threads = false;
  std::int64_t context = 0;  ///< tokens a sequence may hold; 0: the model's own limit
  WeightFormat weights = WeightFormat::Auto;
  DraftWeightFormat draft_weights = DraftWeightFormat::Auto;
  KvFormat kv = KvFormat::Auto;
  /// Instruction set of the kernels ("portable", "avx2", ...); empty: AUGUR_ISA, or the best there is.
  std::string isa;
  /// Chain: the ids of processors without AMX on those with it, too, at the price of the tile unit's speed
  /// for bf16 weights. Blocks: Error where there is no AMX.
  ArithmeticLaw law = ArithmeticLaw::Auto;
  SpeculationPlan speculation;  ///< for requests that do not say otherwise
  /// Jinja in the place of the model's own chat template; empty: the model's own.
  std::string chat_template;
  /// The same for a model that has none, which a warning tells; empty: such a model has no chats.
  std::string fallback_template;
  /// Further variables for the template, which a request's go before: a JSON object; empty: none. Control
  /// tokens in them are tokens, as in the template itself.
  std::string template_kwargs;
  /// The template gets today's date as llama.cpp's programs give it, as `date_string` ("26 Jul 2024") and
  /// `datetime` ("Jul 26 2024"): prompts of templates that ask for these change by the day.
  bool template_date = false;
  TemplateLimits template_limits;
  GrammarBudget grammar_budget;
  /// Policies that decide by time measure the model and its drafters once, when they are first used. Folder
  /// where that and what drafts were worth are kept for other processes; "none": nowhere; empty:
  /// $XDG_CACHE_HOME/augur/costs, or ~/.cache/augur/costs.
  std::string cost_cache;
  /// Called with what a user should know and what does not stop the work: parts made for another model, a
  /// damaged cache.
  std::function<void(std::string_view text)> warning;
  /// Called while loading: what, and a fraction in 0..1.
  std::function<void(std::string_view what, double fraction)> progress;
};

/// What a generated text has to be, from its first byte to its last. A rule named "root" is where grammars
/// in the notations of llama.cpp and xgrammar begin.
struct Grammar {
  GrammarKind kind = GrammarKind::JsonSchema;
  std::string text;
  std::string field;  ///< where it is from, for Result::refused_field; may be empty
};

/// How the model writes its thoughts, as texts; special tokens count as what they are written as.
struct ThoughtOptions {
  std::string begin;   ///< what they begin with, at the beginning of what is generated but for space
  std::string end;     ///< what ends them
  std::string again;   ///< what more of them begin with, right behind their end; empty: there are no more
  bool begun = false;  ///< the prompt has begun them
  /// So many of their tokens are drawn at most; then `end` is written for the model. < 0: any number.
  std::int64_t most_tokens = -1;
  /// Is written in the place of `end`, which it has in it; empty: `end`.
  std::string written_end;
  /// What `begin` and `again` end in, where a text could have gone on otherwise: it does, and more thoughts
  /// are not begun, once their tokens are spent. More of them may then come behind any `end` of the text.
  /// Empty: thoughts that are begun then are ended at once.
  std::string choice;
};

/// What to generate. Exactly one of prompt, prompt_tokens and messages is given.
struct Request {
  /// Text; special tokens in it are recognised, and BOS is put in front where the tokenizer says so.
  std::string prompt;
  std::vector<TokenId> prompt_tokens;  ///< used as they are
  /// Rendered with the model's chat template. In what they and the tools say, control tokens are text; in the
  /// template's own text they are tokens.
  std::vector<Message> messages;
  std::string tools;            ///< for the template: a JSON list in OpenAI's form; empty: none
  std::string template_kwargs;  ///< further variables for it: a JSON object; empty: none
  ChatEnd chat_end = ChatEnd::Reply;
  std::int64_t max_tokens = -1;   ///< < 0: as many as the context holds
  std::vector<std::string> stop;  ///< generation ends before any of these; they are not part of the text
  bool ignore_eos = false;        ///< never draw an end-of-sequence token
  /// Promised time per token, once the prompt has been read: `auto` gives a text that falls behind more of
  /// the batch's drafts, in the place of those that are in time. 0: nothing is promised.
  double tpot_ms = 0;
  /// Take over what a Session has kept of a text that begins alike, and leave this one for others. False:
  /// the whole prompt is read, and nothing of the text stays: it is not kept, and look-ups do not learn from
  /// it.
  bool cache_prompt = true;
  /// Requests share what is kept, and what look-ups learn, with those of the same salt only (vLLM's field).
  std::string cache_salt;
  bool show_special = false;          ///< special tokens appear in the text
  std::vector<TokenId> shown_tokens;  ///< special tokens that appear in it all the same
  /// The log-probability of every generated token, and those of so many of the most probable tokens in its
  /// place. < 0: none.
  int logprobs = -1;
  /// They are those of the distribution that the token is drawn from, and not the model's own.
  bool sampled_logprobs = false;
  bool prompt_logprobs = false;  ///< with `logprobs`: the same for the prompt, which is read whole then
  SamplingOptions sampling;
  std::optional<Grammar> grammar;  ///< tokens are drawn among those that it allows
  /// With thoughts that the prompt has begun, the grammar holds for what follows them.
  std::optional<ThoughtOptions> thoughts;
  std::optional<SpeculationPlan> speculation;  ///< in place of the engine's
  /// Called when the prompt begins to be read, with what is taken over of it, and after every chunk: tokens
  /// done, tokens in all.
  std::function<void(std::int64_t done, std::int64_t total)> on_prefill;
  RoundCallback on_round;  ///< called after every step with what was drafted and what came of it
  /// Looked at between steps; true ends the generation as Cancelled. Must outlive the call.
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace augur
