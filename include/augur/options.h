#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur {

/// A token of the model's vocabulary.
using TokenId = std::int32_t;

/// How the next token is drawn: logit bias, penalties, temperature, top-k, top-p, min-p, in this order, then
/// one draw with noise that depends on (seed, absolute position, token) only. The defaults are greedy.
struct SamplingOptions {
  double temperature = 0.0;  ///< 0: greedy
  int top_k = 0;             ///< 0: off
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  int penalty_window = 64;  ///< last tokens that the penalties look at; -1: all
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::uint64_t seed = 0;
};

/// How a drafted tree is checked. Walk: the text is byte-identical to plain decoding. Rejection: the classic
/// rejection sampling; the same law, but not the same bytes (greedy: the same bytes).
enum class Verification { Walk, Rejection };

/// How much to speculate, and with what. The text does not depend on it.
struct SpeculationOptions {
  /// Names of speculation_types(), or "auto": what the draft model's files are made for. Several draft one
  /// tree together: what they propose is merged, and the likeliest nodes are verified. Empty or {"none"}:
  /// plain decoding.
  std::vector<std::string> types;
  /// What shapes the drafts: one of speculation_policies(), with settings where it has some
  /// (NAME:KEY=VALUE,...). Empty: what the following say, a chain, EAGLE-2's tree or a fixed one.
  std::string policy;
  int draft_max = 4;         ///< tokens of a drafted chain, at most
  int draft_min = 0;         ///< shorter chains are not verified
  double draft_p_min = 0.0;  ///< a chain ends before a token less probable (dspark: confident) than this
  /// A tree: candidates per node, levels, and nodes verified, the root included. 0: as the policy usually has
  /// them, 4, 4 and 16. Without a policy any of them asks for a tree grown by cumulative draft probability
  /// (EAGLE-2); none, or one candidate per node, is a chain of draft_max tokens.
  int tree_topk = 0;
  int tree_depth = 0;
  int tree_size = 0;
  /// A tree of fixed shape instead, for drafters that rank candidates: a published one by its name
  /// ("mc_sim_7b_63"), or a JSON file with the paths of its nodes, each a list of ranks of candidates.
  std::string static_tree;
  int ngram_min = 1;  ///< shortest suffix that is looked up
  int ngram_max = 4;  ///< longest; at most 64
  /// Type "layerskip": so many of the target's first layers draft. 0: what the draft model's config.json says
  /// (exit_layer), otherwise a quarter of them.
  int exit_layer = 0;
  Verification verification = Verification::Walk;
  /// Drafters know the noise of the target's draws and propose what it makes likely (coupled drafting), so
  /// that drafts are accepted at high temperatures nearly as often as at low ones. False: they rank
  /// candidates by their own probabilities alone, as in the papers. Matters with Walk at temperature > 0, or
  /// with penalties.
  bool coupling = true;
};

/// Native: quantised weights (GGUF) are computed on as they are stored, others in bf16. Auto is the same.
/// BF16 and F32 expand everything at load.
enum class WeightFormat { Auto, Native, BF16, F32 };

/// What keys and values are kept in. Auto: BF16 (F32 with F32 weights). Q8_0 takes little more than half of
/// BF16's memory; heads must be multiples of 32.
enum class KvFormat { Auto, BF16, Q8_0 };

struct EngineOptions {
  std::string model;  ///< Hugging Face folder or GGUF file
  /// The same, or the folder of a draft head, for the types that need one; empty: none. Its type is the one
  /// that `speculation` names, otherwise what its files say.
  std::string draft_model;
  /// What the draft model's or head's last projection computes: "full", "frspec:FILE[:SIZE]",
  /// "pafr:FILE[:SIZE]", "hot:FILE[:SIZE]" or "dynaspec:FOLDER[:K|:K0,K1]" (docs/vocabulary.md). The target
  /// verifies over its whole vocabulary whatever it says.
  std::string draft_vocabulary = "full";
  /// A file made by `augur datastore build`, which type "suffix" retrieves continuations from; empty: none.
  std::string datastore;
  int threads = 0;  ///< 0: one per core
  bool pin_threads = false;
  std::int64_t context = 0;  ///< tokens a sequence may hold; 0: the model's own limit
  WeightFormat weights = WeightFormat::Auto;
  KvFormat kv = KvFormat::Auto;
  /// Instruction set of the kernels ("portable", "avx2", ...); empty: AUGUR_ISA, or the best there is.
  std::string isa;
  SpeculationOptions speculation;  ///< for requests that do not say otherwise
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

struct Message {
  std::string role;  ///< "system", "user", "assistant", "tool"
  std::string content;
};

/// What to generate. Exactly one of prompt, prompt_tokens and messages is given.
struct Request {
  /// Text; special tokens in it are recognised, and BOS is put in front where the tokenizer says so.
  std::string prompt;
  std::vector<TokenId> prompt_tokens;  ///< used as they are
  std::vector<Message> messages;       ///< rendered with the model's chat template
  std::int64_t max_tokens = -1;        ///< < 0: as many as the context holds
  std::vector<std::string> stop;       ///< generation ends before any of these; they are not part of the text
  bool ignore_eos = false;             ///< never draw an end-of-sequence token
  bool show_special = false;           ///< special tokens appear in the text
  SamplingOptions sampling;
  std::optional<SpeculationOptions> speculation;  ///< overrides the engine's
  /// Called after every chunk of the prompt: tokens done, tokens in all.
  std::function<void(std::int64_t done, std::int64_t total)> on_prefill;
  /// Looked at between steps; true ends the generation as "cancelled". Must outlive the call.
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace augur
