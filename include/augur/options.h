#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/custom_drafter.h"
#include "augur/custom_policy.h"
#include "augur/draft_round.h"
#include "augur/enums.h"
#include "augur/log.h"
#include "augur/logits_processor.h"
#include "augur/message.h"
#include "augur/plan.h"
#include "augur/sampling_options.h"
#include "augur/template_limits.h"

namespace augur {
inline namespace abi1 {

/// Limits for compiling one grammar; a grammar that needs more is refused.
struct GrammarBudget {
  double seconds = 2;                           ///< of one core, more than 0
  std::int64_t bytes = std::int64_t{64} << 20;  ///< held at a time, more than 0
};

/// A GGUF file that is not given by its path: bytes in memory, or an open file. One of the two.
struct ModelContent {
  /// Used where they lie; nothing is copied. They must neither change nor go until the last engine made of
  /// them has been destroyed; engines made of the same bytes share weights, as those made of one file do.
  std::span<const std::byte> bytes;
  /// Held until then, so that it may own `bytes`; null: they outlive the engines.
  std::shared_ptr<const void> keeper;
  /// A descriptor of a regular file, open for reading, from its beginning whatever its offset. It is mapped
  /// by the constructor, and may be closed as soon as that has returned. -1: none.
  int descriptor = -1;

  bool given() const { return bytes.data() != nullptr || descriptor >= 0; }
};

struct EngineOptions {
  std::string model;  ///< Hugging Face folder or GGUF file
  /// The model's file in place of the path `model`, which then is only its name in messages. A part of a
  /// split file, and safetensors, which have their configuration beside them, are refused.
  ModelContent model_content;
  /// Draft model (in the same forms) or draft head (a folder or GGUF file), for the types that need one. The
  /// model's own path means the model's own layers that draft. Empty: these layers, if the model has them and
  /// `speculation` names their type or none; otherwise no draft model. The type is the one that `speculation`
  /// names, otherwise it is recognised from the files. Parts for policies and draft vocabularies are found in
  /// its folder; for a file, in a folder beside it with the file's name without ending.
  std::string draft_model;
  /// Further draft models, which a plan names as "@NAME"; each needs a different name (letters, digits, '.',
  /// '_' and '-'). Their type is recognised from their files; they compute their whole vocabulary.
  struct NamedDraftModel {
    std::string name;
    std::string path;
    /// Parses "NAME=PATH". Error for any other form.
    static NamedDraftModel parse(std::string_view text);
  };
  std::vector<NamedDraftModel> draft_models;
  /// A file made by `augur datastore build`, which type "suffix" retrieves continuations from; empty: none.
  std::string datastore;
  int threads = 0;  ///< 0: one for each core, or as many as control groups give processor time for
  bool pin_threads = false;
  std::int64_t context = 0;  ///< tokens a sequence may hold; 0: the model's own limit
  WeightFormat weights = WeightFormat::Auto;
  DraftWeightFormat draft_weights = DraftWeightFormat::Auto;
  KvFormat kv = KvFormat::Auto;
  /// Instruction set of the kernels ("portable", "avx2", ...); empty: AUGUR_ISA, or the best there is.
  std::string isa;
  /// Chain: a processor with AMX gives the same ids as one without, but does not use AMX for bf16 weights, so
  /// it is slower. Blocks: Error on a processor without AMX.
  ArithmeticLaw law = ArithmeticLaw::Auto;
  SpeculationPlan speculation;  ///< for requests without a plan of their own
  /// Jinja template in place of the model's chat template; empty: the model's.
  std::string chat_template;
  /// The same for a model without a chat template, with a warning; empty: such a model cannot chat.
  std::string fallback_template;
  /// Further variables for the template: a JSON object; empty: none. Those of a request win. Control tokens
  /// in them are tokens, as in the template itself.
  std::string template_kwargs;
  /// Gives the template today's date as llama.cpp does, in `date_string` ("26 Jul 2024") and `datetime` ("Jul
  /// 26 2024"). Prompts of templates that use these change every day.
  bool template_date = false;
  TemplateLimits template_limits;
  GrammarBudget grammar_budget;
  /// Folder in which measured times and acceptance rates are stored for other processes; "none": nowhere;
  /// empty: $XDG_CACHE_HOME/augur/costs, or ~/.cache/augur/costs. Policies that decide by time measure the
  /// model and its drafters once, when they are first used.
  std::string cost_cache;
  /// Gets what the engine and its `Session` tell. Empty: nobody does.
  LogCallback log;
  /// Called while loading: what is loaded, and the fraction done, 0 to 1. What it throws ends the load and
  /// comes out of the constructor.
  std::function<void(std::string_view what, double fraction)> progress;
  /// Read while loading, before each call of `progress` and between the stages; true ends it with an Error of
  /// kind Cancelled. Must outlive the constructor of the engine; null: nothing cancels it.
  const std::atomic<bool>* cancel = nullptr;
  std::vector<CustomDrafterType> custom_drafters;  ///< drafters of yours, which plans name as "@NAME"
  std::vector<CustomPolicyType> custom_policies;   ///< policies, likewise
};

/// The form of a generated text, from its first byte to its last. Grammars in the notations of llama.cpp and
/// xgrammar begin with the rule "root".
struct Grammar {
  GrammarKind kind = GrammarKind::JsonSchema;
  std::string text;
  std::string field;  ///< the field that it came from, for Result::refused_field; may be empty
};

/// How the model marks its reasoning ("thoughts"). All are texts; special tokens are given by their text.
struct ThoughtOptions {
  std::string begin;   ///< opens thoughts at the beginning of the generated text, perhaps after white space
  std::string end;     ///< closes them
  std::string again;   ///< opens further thoughts directly after `end`; empty: there are none
  bool begun = false;  ///< the prompt has already opened them
  /// Most tokens of thoughts; after that `end` is written in place of the model's tokens. < 0: no limit.
  std::int64_t most_tokens = -1;
  /// Text to write in place of `end`, which it must contain; empty: `end`.
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
  /// Rendered with the model's chat template. Control tokens in messages and tools are plain text; in the
  /// template's own text they are tokens.
  std::vector<Message> messages;
  std::string tools;            ///< tools for the template: a JSON list in OpenAI's form; empty: none
  std::string template_kwargs;  ///< further variables for the template: a JSON object; empty: none
  ChatEnd chat_end = ChatEnd::Reply;
  std::int64_t max_tokens = -1;  ///< < 0: until the context is full
  /// generation ends before the first of these, which does not become part of the text
  std::vector<std::string> stop;
  bool ignore_eos = false;  ///< never draw an end-of-sequence token
  /// Promised time per token after the prompt: `auto` gives texts that fall behind more of the batch's
  /// drafts, and the others fewer. 0: no promise.
  double tpot_ms = 0;
  /// Reuse what a Session has kept of a text with the same beginning, and keep this text for other requests.
  /// False: the whole prompt is read, the text is not kept, and look-ups do not learn from it.
  bool cache_prompt = true;
  /// Only requests with the same salt share kept texts and what look-ups learn (vLLM's field).
  std::string cache_salt;
  bool show_special = false;  ///< special tokens appear in the text
  /// special tokens that appear in the text even if show_special is false
  std::vector<TokenId> shown_tokens;
  /// Gives the log-probability of every generated token, and of this many most probable tokens at its place.
  /// < 0: none.
  int logprobs = -1;
  /// `logprobs` are those of the distribution that the token is drawn from, after all sampling options, and
  /// not the model's own.
  bool sampled_logprobs = false;
  bool prompt_logprobs = false;  ///< with `logprobs`: also for the prompt, which is then read completely
  SamplingOptions sampling;
  std::vector<LogitsProcessor> logits_processors;  ///< called in this order, before all of `sampling`
  std::optional<Grammar> grammar;                  ///< only tokens that it allows are drawn
  /// If the prompt has opened thoughts, the grammar applies to the text after them.
  std::optional<ThoughtOptions> thoughts;
  std::optional<SpeculationPlan> speculation;  ///< in place of the engine's plan
  /// Called when reading of the prompt begins (`done`: the tokens that are reused), and after every chunk. In
  /// tokens.
  std::function<void(std::int64_t done, std::int64_t total)> on_prefill;
  RoundCallback on_round;  ///< called after every step with its draft and the result
  /// Read between steps; true ends the generation as Cancelled. Must outlive the call.
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace abi1
}  // namespace augur
