#include "augur/engine.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "augur/build_info.h"
#include "base/error.h"
#include "base/log.h"
#include "base/own_environment.h"
#include "checkpoint/checkpoint.h"
#include "cost/measured_file.h"
#include "decode/decoder.h"
#include "decode/timed_sequences.h"
#include "draft/common/sequence_rows.h"
#include "draft/detect.h"
#include "draft/draft_weights.h"
#include "draft/model_drafter.h"
#include "engine/batch.h"
#include "engine/cost_report.h"
#include "engine/drafters.h"
#include "engine/engine_access.h"
#include "engine/engine_owner.h"
#include "engine/generation.h"
#include "engine/loaded_target.h"
#include "engine/memory_check.h"
#include "engine/plan_names.h"
#include "engine/policy_cache.h"
#include "engine/resolved_plan.h"
#include "engine/text_reader.h"
#include "files/part_location.h"
#include "text/prompt_text.h"

namespace augur {

EngineOptions::NamedDraftModel EngineOptions::NamedDraftModel::parse(std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos || sign == 0 || sign + 1 == text.size()) {
    throw Error(refused("draft_models"), "draft model '{}': expected NAME=PATH", text);
  }
  return {.name = std::string(text.substr(0, sign)), .path = std::string(text.substr(sign + 1))};
}

struct __attribute__((visibility("hidden"))) Engine::Impl {
  // Order matters: drafters and decoder use the target, drafters the vocabulary.
  std::shared_ptr<LoadedTarget> target;
  std::optional<Checkpoint> draft_checkpoint;
  std::string head;             ///< type that draft_checkpoint is used as; empty: there is none
  std::filesystem::path parts;  ///< where what was learned for it lies; empty: there is none
  VocabularySpec vocabulary_spec;
  SpeculationPlan plan;  ///< resolved, for requests that bring none
  std::optional<VocabularyChoice> vocabulary;
  /// One of EngineOptions::draft_models.
  struct NamedDraft {
    std::string name;  ///< "@NAME"
    Checkpoint checkpoint;
    std::filesystem::path parts;
  };
  std::list<NamedDraft> named_drafts;                        ///< drafters refer to their checkpoints
  std::map<std::string, CustomDrafterType> custom_drafters;  ///< by "@NAME"
  std::map<std::string, CustomPolicyType> custom_policies;   ///< likewise
  Drafters drafters;
  std::unique_ptr<PolicyCache> policies;
  std::unique_ptr<GrammarCompiler> grammars;
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<LiveCosts> costs;
  Log log;  ///< EngineOptions::log
  ModelInfo info;

  /// `target`: null where it is an engine of its own.
  static std::shared_ptr<Impl> make(const EngineOptions& options, std::shared_ptr<LoadedTarget> target = {});
  /// Loads the target where it is not loaded yet.
  Impl(std::shared_ptr<LoadedTarget> shared, const EngineOptions& options);
  void open_draft_model(const EngineOptions& options);
  void open_named_drafts(const EngineOptions& options);
  /// Error for a draft model whose tokenizer cannot be read or has other tokens.
  void check_draft_tokenizers() const;
  /// Takes over the host program's drafters and policies.
  void take_custom(const EngineOptions& options);
  /// What plans name as "@NAME".
  std::vector<std::string> draft_names() const;
  /// Error for a vocabulary that no drafter would use.
  void check_vocabulary() const;
  void load_drafters(const EngineOptions& options);
  /// What was loaded, and what was chosen for it.
  void log_loaded() const;
  /// What its plans may name.
  LoadedDrafts loaded() const;
  void prepare_costs(const std::string& cost_cache);
  /// The plan's, which outlives them.
  std::vector<ProbedDrafter> probed_drafters(const SpeculationPlan& resolved) const;
  /// The policy of a resolved plan, with what it wants to know; null for plain decoding. `parallel`:
  /// sequences of a batch, for which the plan's memory is checked. `beside`: drafter_beside(); the policy is
  /// the plan's with it and without.
  std::shared_ptr<PolicyModel> prepare_policy(const SpeculationPlan& resolved, int parallel,
                                              std::string_view beside = {});
  std::unique_ptr<Generation> start(const Request& request, const TokenCallback& on_token, int parallel,
                                    const EngineAccess::Prepare& prepare = {},
                                    const std::shared_ptr<const CompiledGrammar>& grammar = nullptr,
                                    const std::string& tenant = {});
  Result run(Generation& generation);
};

namespace {

/// Error of kind Cancelled where loading is to end. `what`: what is loaded next, or was loaded.
void require_wanted(const std::atomic<bool>* cancel, std::string_view what) {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
    throw Error(ErrorKind::Cancelled, "loading was cancelled: {}", what);
}

/// EngineOptions::progress, which is asked first whether loading is to go on. Empty where there is nothing
/// to ask.
std::function<void(std::string_view, double)> progress_of(const EngineOptions& options) {
  if (options.cancel == nullptr) return hosted(options.progress);
  return
      [cancel = options.cancel, progress = hosted(options.progress)](std::string_view what, double fraction) {
        require_wanted(cancel, what);
        if (progress) progress(what, fraction);
      };
}

}  // namespace

Engine::Impl::Impl(std::shared_ptr<LoadedTarget> shared, const EngineOptions& options)
    : target(std::move(shared)), log(options.log) {
  // What cannot be is found before anything big is read.
  open_draft_model(options);
  open_named_drafts(options);
  take_custom(options);
  check_draft_tokenizers();
  plan = resolve(options.speculation, loaded());
  vocabulary_spec = VocabularySpec::parse(plan.draft_vocabulary).located(parts);
  plan.draft_vocabulary = to_string(vocabulary_spec);
  check_vocabulary();
  require_wanted(options.cancel, "model");
  if (target->model == nullptr) target->load(options);
  require_wanted(options.cancel, "model");
  vocabulary.emplace(vocabulary_spec, target->model->fingerprint(), target->tokenizer->eos,
                     target->model->weight_bytes());
  load_drafters(options);
  policies = std::make_unique<PolicyCache>(*target->model, parts, custom_policies);
  grammars = std::make_unique<GrammarCompiler>(*target->tokenizer, target->model->config().vocab,
                                               options.grammar_budget);
  decoder = std::make_unique<Decoder>(*target->model);
  prepare_costs(options.cost_cache);
  require_wanted(options.cancel, "costs");
  prepare_policy(plan, 1);
  info = target->describe();
  log_loaded();
}

void Engine::Impl::log_loaded() const {
  log.info("{}: {}, {} tokens of context, weights {}, kernels {} under law {}, {} threads", info.path,
           info.family, info.context, info.weights, info.isa, info.law, info.threads);
  log.debug("{}: fingerprint {}", info.path, info.fingerprint);
  if (draft_checkpoint) log.info("{} drafts as {}", draft_checkpoint->path().string(), head);
  for (const NamedDraft& draft : named_drafts)
    log.info("{} drafts as {}", draft.checkpoint.path().string(), draft.name);
  log.info("speculation: {}", to_string(plan));
  if (!costs->file().empty()) log.debug("costs are kept in {}", costs->file().string());
}

void Engine::Impl::open_draft_model(const EngineOptions& options) {
  SpeculationPlan named = options.speculation;
  use_canonical_names(named);
  if (options.draft_model.empty()) {
    // The target may have layers that draft. They are loaded for who names nothing, or what they are.
    const std::string_view own = own_drafter_type(target->checkpoint);
    const std::vector<std::string>& names = named.drafters;
    const bool asked = names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                         return name == "auto" || name == own;
                       });
    if (own.empty() || !asked) return;
    draft_checkpoint = target->checkpoint;
    if (options.model_content.given()) return void(head = own);  // nothing lies beside it
    parts = parts_folder(target->path);
    head = own;
    return;
  }
  draft_checkpoint = Checkpoint::open(options.draft_model);
  parts = parts_folder(options.draft_model);
  for (const std::string& name : drafters_of(named)) {
    if (name != "auto" && !names_users(name) && find_drafter_type(name).needs_head) head = name;
  }
  if (head.empty()) head = detect_drafter_type(*draft_checkpoint, target->path);
}

void Engine::Impl::open_named_drafts(const EngineOptions& options) {
  for (const EngineOptions::NamedDraftModel& given : options.draft_models) {
    std::string name = users_name("draft_models", given.name, draft_names());
    named_drafts.push_back({std::move(name), Checkpoint::open(given.path), parts_folder(given.path)});
  }
}

void Engine::Impl::take_custom(const EngineOptions& options) {
  for (const CustomDrafterType& type : options.custom_drafters) {
    if (!type.make) throw Error(refused("custom_drafters"), "custom_drafters: '{}' makes none", type.name);
    custom_drafters.emplace(users_name("custom_drafters", type.name, draft_names()), type);
  }
  std::vector<std::string> names;
  for (const CustomPolicyType& type : options.custom_policies) {
    if (!type.make) throw Error(refused("custom_policies"), "custom_policies: '{}' makes none", type.name);
    if (type.most_nodes < 1 || type.most_expanded < 1)
      throw Error(refused("custom_policies"), "custom_policies: '{}': its bounds are to be 1 or more",
                  type.name);
    names.push_back(users_name("custom_policies", type.name, names));
    custom_policies.emplace(names.back(), type);
  }
}

void Engine::Impl::check_draft_tokenizers() const {
  const auto check = [&](const Checkpoint& draft) {
    require_same_vocabulary(*target->tokenizer, target->path, *draft.load_tokenizer(), draft.path().string());
  };
  if (head == kDraftModelType) check(*draft_checkpoint);
  for (const NamedDraft& draft : named_drafts) {
    if (detect_drafter_type(draft.checkpoint, target->path) == kDraftModelType) check(draft.checkpoint);
  }
}

std::vector<std::string> Engine::Impl::draft_names() const {
  std::vector<std::string> names;
  for (const NamedDraft& draft : named_drafts) names.push_back(draft.name);
  for (const auto& [name, type] : custom_drafters) names.push_back(name);
  return names;
}

void Engine::Impl::check_vocabulary() const {
  using Kind = VocabularySpec::Kind;
  if (vocabulary_spec.kind == Kind::Full || vocabulary_spec.kind == Kind::Auto) return;
  const auto projects = [](const std::string& name) {
    return !names_users(name) && find_drafter_type(name).projects;
  };
  const std::span<const std::string> names = drafters_of(plan);
  if (std::any_of(names.begin(), names.end(), projects) || (!head.empty() && projects(head))) return;
  throw Error(refused("draft_vocabulary"),
              "draft vocabulary '{}': nothing that drafts here ({}) has a vocabulary to choose from",
              plan.draft_vocabulary, fmt::join(plan.drafters, ", "));
}

void Engine::Impl::load_drafters(const EngineOptions& options) {
  DrafterSource source{.backend = target->backend,
                       .target = *target->model,
                       .tokenizer = *target->tokenizer,
                       .target_path = target->path,
                       .context = target->model->context(),
                       .vocabulary = &*vocabulary,
                       .datastore = options.datastore,
                       .progress = loading_stage(options, "draft model")};
  /// The files that are loaded next. Returns what their costs are kept by: the weights' form counts, too.
  const auto take = [&](const Checkpoint& files) {
    source.head = &files;
    source.form = draft_weight_form(options.draft_weights, files, *target->model);
    const std::string form = source.form->quantize ? fmt::format(" as {}", name(*source.form->quantize))
                             : source.form->native ? ""
                                                   : " as floats";
    return draft_identity(files) + form;
  };
  const std::string files = draft_checkpoint ? take(*draft_checkpoint) : std::string();
  drafters.load(source, head, files);
  source.vocabulary = nullptr;
  for (const NamedDraft& draft : named_drafts) {
    const std::string identity = take(draft.checkpoint);
    drafters.load_named(draft.name, detect_drafter_type(draft.checkpoint, target->path), source, identity);
  }
  drafters.take_custom(custom_drafters, target->model->config().vocab);
}

LoadedDrafts Engine::Impl::loaded() const {
  std::vector<std::string> policy_names;
  for (const auto& [name, type] : custom_policies) policy_names.push_back(name);
  return {.head = head,
          .named = draft_names(),
          .policies = std::move(policy_names),
          .vocabulary = vocabulary ? &vocabulary_spec : nullptr,
          .parts = parts};
}

void Engine::Impl::prepare_costs(const std::string& cost_cache) {
  costs = std::make_unique<LiveCosts>(
      *target->model, decoder->costs(),
      CostCache(measured_folder(cost_cache), *target->model, target->path, log),
      [this](const Clock& clock) { return time_overhead(*target->model, clock); });
}

std::vector<ProbedDrafter> Engine::Impl::probed_drafters(const SpeculationPlan& resolved) const {
  std::vector<ProbedDrafter> probed;
  for (const std::string& name : drafters_of(resolved)) {
    const auto make = [&](std::int64_t context) {
      const std::int64_t tokens = std::min(context, target->model->context());
      return drafters.make(name, resolved, {.tokens = tokens, .owner = {}});
    };
    probed.push_back({name, drafters.cost_key(name, resolved), time_drafts(*target->model, make)});
  }
  return probed;
}

std::shared_ptr<PolicyModel> Engine::Impl::prepare_policy(const SpeculationPlan& resolved, int parallel,
                                                          std::string_view beside) {
  if (resolved.plain()) return nullptr;
  // What was learned for a drafter lies beside it.
  const auto named = std::find_if(named_drafts.begin(), named_drafts.end(), [&](const NamedDraft& draft) {
    return std::find(resolved.drafters.begin(), resolved.drafters.end(), draft.name) !=
           resolved.drafters.end();
  });
  const auto [policy, fresh] = policies->get(resolved, named == named_drafts.end() ? nullptr : &named->parts);
  SpeculationPlan drafting = resolved;
  if (!beside.empty()) drafting.drafters.emplace_back(beside);
  check_memory(drafting, *policy, target->model->config(), parallel);
  if (fresh && !policy->warning().empty()) log.warning("{}", policy->warning());
  if (policy->needs_costs()) costs->prepare(probed_drafters(drafting), false, parallel == 1);
  return policy;
}

std::unique_ptr<Generation> Engine::Impl::start(const Request& request, const TokenCallback& on_token,
                                                int parallel, const EngineAccess::Prepare& prepare,
                                                const std::shared_ptr<const CompiledGrammar>& grammar,
                                                const std::string& tenant) {
  const GenerationContext context{.target = *target->model,
                                  .tokenizer = *target->tokenizer,
                                  .suppressed = target->suppressed,
                                  .context = target->model->context(),
                                  .parallel = parallel,
                                  .drafters = drafters,
                                  .grammars = *grammars,
                                  .grammar = grammar,
                                  .tenant = tenant,
                                  .prepare = prepare};
  const SpeculationPlan asked = request.speculation ? resolve(*request.speculation, loaded()) : plan;
  auto policy = prepare_policy(asked, parallel, drafter_beside(asked, request.grammar.has_value()));
  return std::make_unique<Generation>(context, request, target->prompt(request), asked, std::move(policy),
                                      on_token);
}

Result Engine::Impl::run(Generation& generation) {
  Sequence* const sequence = &generation.sequence();
  for (generation.poll_cancel(); !sequence->finished(); generation.poll_cancel()) {
    decoder->step({&sequence, 1});
  }
  return generation.finish();
}

std::shared_ptr<Engine::Impl> Engine::Impl::make(const EngineOptions& options,
                                                 std::shared_ptr<LoadedTarget> target) {
  const OwnEnvironment environment;
  EngineOptions hosting = options;
  hosting.log = hosted(options.log);
  hosting.progress = progress_of(options);
  if (target == nullptr) target = std::make_shared<LoadedTarget>(hosting);
  // In a child of fork there are no threads to wait for.
  const auto free = [](Impl* impl) {
    if (impl->target->owner.process().here()) delete impl;
  };
  return {new Impl(std::move(target), hosting), free};
}

namespace {

/// What an engine has loaded, unless it has been moved from.
template <class Impl>
const std::shared_ptr<Impl>& present(const std::shared_ptr<Impl>& impl) {
  if (impl == nullptr) throw Error(ErrorKind::Misuse, "the engine has been moved from");
  return impl;
}

}  // namespace

Engine::Engine(const EngineOptions& options) : impl_(Impl::make(options)) {}
__attribute__((visibility("hidden"))) Engine::Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

namespace {

/// A call that nobody else's may be beside, in the library's own environment. Its engine may be gone at its
/// end.
template <class Impl>
class InUse {
 public:
  InUse(const std::shared_ptr<Impl>& impl, const char* what)
      : impl_(present(impl)), hold_(impl_->target->owner, EngineOwner::Use::Call, what) {}
  Impl* operator->() const { return impl_.get(); }

 private:
  const std::shared_ptr<Impl> impl_;
  const EngineOwner::Hold hold_;
  const OwnEnvironment environment_;
};

}  // namespace

Result Engine::generate(const Request& request, const TokenCallback& on_token) {
  const InUse engine(impl_, "generate()");
  return engine->run(*engine->start(request, on_token, 1));
}

void Engine::generate_many(std::span<const Request> requests, int parallel, const ResultCallback& on_result,
                           const IndexedTokenCallback& on_token) {
  if (parallel < 1 || parallel > kMostParallel) {
    throw Error(refused("parallel"), "{} parallel generations are not possible: expected 1 to {}", parallel,
                kMostParallel);
  }
  const InUse engine(impl_, "generate_many()");
  const auto token_callback = [&](std::size_t index) -> TokenCallback {
    if (!on_token) return {};
    return [&on_token, index](const TokenEvent& event) { return on_token(index, event); };
  };
  Batch batch(*engine->decoder);
  std::size_t next = 0;
  while (next < requests.size() || !batch.empty()) {
    while (next < requests.size() && batch.size() < static_cast<std::size_t>(parallel)) {
      const std::size_t index = next++;
      const auto done = [&on_result, index](Result result) {
        const HostEnvironment host;
        if (on_result) on_result(index, std::move(result));
      };
      try {
        const auto number = static_cast<std::int64_t>(index);
        batch.add(engine->start(requests[index], token_callback(index), parallel), done, number);
        batch.begin(number);
      } catch (...) {
        done(failed(std::current_exception()));
      }
    }
    batch.step();
  }
}

std::vector<float> Engine::logits(std::span<const TokenId> tokens, const std::atomic<bool>* cancel) {
  const InUse engine(impl_, "logits()");
  std::vector<float> all;
  TextReader(*engine->target->model, cancel).logits(tokens, [&](std::int64_t, std::span<const float> rows) {
    if (all.empty()) all.reserve(tokens.size() * static_cast<std::size_t>(engine->info.vocab));
    all.insert(all.end(), rows.begin(), rows.end());
  });
  return all;
}

void Engine::logits(std::span<const TokenId> tokens, const LogitsCallback& on_rows,
                    const std::atomic<bool>* cancel) {
  if (!on_rows) throw Error(refused("on_rows"), "logits(): expected a callback");
  const InUse engine(impl_, "logits()");
  TextReader(*engine->target->model, cancel).logits(tokens, hosted(on_rows));
}

std::vector<float> Engine::hidden_states(std::span<const TokenId> tokens, int layer,
                                         const std::atomic<bool>* cancel) {
  const InUse engine(impl_, "hidden_states()");
  return TextReader(*engine->target->model, cancel).hidden_states(tokens, layer);
}

std::vector<float> Engine::embed(std::span<const TokenId> tokens, const EmbedOptions& options) {
  const InUse engine(impl_, "embed()");
  return TextReader(*engine->target->model, options.cancel)
      .embed(tokens, options.pooling, options.normalised);
}

TextScore Engine::score(std::span<const TokenId> tokens, std::int64_t from, const std::atomic<bool>* cancel) {
  const InUse engine(impl_, "score()");
  const ScoredText text{.tokens = {tokens.begin(), tokens.end()}, .from = from};
  TextScore score;
  TextReader(*engine->target->model, cancel).score({&text, 1}, [&](std::size_t, TextScore of_text) {
    score = std::move(of_text);
  });
  return score;
}

void Engine::score_many(std::span<const ScoredText> texts, const ScoreCallback& on_score,
                        const std::atomic<bool>* cancel) {
  if (!on_score) throw Error(refused("on_score"), "score_many(): expected a callback");
  const InUse engine(impl_, "score_many()");
  TextReader(*engine->target->model, cancel).score(texts, hosted(on_score));
}

void Engine::forget() {
  const InUse engine(impl_, "forget()");
  engine->drafters.forget_learnt();
  engine->policies->forget_learnt();
}

MeasuredCosts Engine::costs(bool anew) {
  const InUse engine(impl_, "costs()");
  engine->costs->prepare(engine->probed_drafters(engine->plan), anew);
  return report_costs(*engine->costs);
}

const ModelInfo& Engine::info() const {
  return present(impl_)->info;
}

std::vector<TokenId> Engine::tokenize(std::string_view text, bool parse_special) const {
  const OwnEnvironment environment;
  return present(impl_)->target->encode(text, parse_special);
}

std::vector<TokenId> Engine::tokenize_part(std::string_view text, bool parse_special) const {
  const OwnEnvironment environment;
  return encode_part(*present(impl_)->target->tokenizer, text, parse_special);
}

std::string Engine::detokenize(std::span<const TokenId> tokens, bool show_special) const {
  const OwnEnvironment environment;
  return present(impl_)->target->tokenizer->decode({tokens.begin(), tokens.end()}, show_special);
}

std::string Engine::token_bytes(TokenId token) const {
  const std::int32_t vocab = info().vocab;
  const Tokenizer& tokenizer = *impl_->target->tokenizer;
  if (token < 0 || token >= vocab) {
    throw Error(refused("token"), "token {} is outside the vocabulary of {}", token, vocab);
  }
  return token < tokenizer.vocab_size() ? tokenizer.token_bytes(token) : std::string();
}

std::string Engine::render_chat(const Request& request) const {
  const OwnEnvironment environment;
  return present(impl_)->target->render(request).text;
}

std::string Engine::chat_template() const {
  return present(impl_)->target->template_source;
}

InfillTokens Engine::infill_tokens() const {
  return present(impl_)->target->tokenizer->infill;
}

const SpeculationPlan& Engine::speculation() const {
  return present(impl_)->plan;
}

std::vector<std::string> Engine::drafters() const {
  return present(impl_)->drafters.names();
}

std::vector<TokenId> Engine::prompt_tokens(const Request& request) const {
  const OwnEnvironment environment;
  return present(impl_)->target->prompt(request);
}

Engine EngineAccess::on_device(const EngineOptions& options, const MakeDevice& make_device) {
  auto target = std::make_shared<LoadedTarget>(options);
  target->device = make_device(target->backend);
  return Engine(Engine::Impl::make(options, std::move(target)));
}

Engine EngineAccess::sibling(const Engine& engine, const EngineOptions& options) {
  return Engine(Engine::Impl::make(options, engine.impl_->target));
}

Result EngineAccess::generate(Engine& engine, const Request& request, const TokenCallback& on_token,
                              const Prepare& prepare) {
  const InUse held(engine.impl_, "generate()");
  return held->run(*held->start(request, on_token, 1, prepare));
}

std::unique_ptr<Generation> EngineAccess::start(Engine& engine, const Request& request,
                                                const TokenCallback& on_token, int parallel,
                                                const std::shared_ptr<const CompiledGrammar>& grammar,
                                                const std::string& tenant) {
  return engine.impl_->start(request, on_token, parallel, {}, grammar, tenant);
}

Engine EngineAccess::share(const Engine& engine) {
  return Engine(present(engine.impl_));
}

EngineOwner& EngineAccess::owner(const Engine& engine) {
  return present(engine.impl_)->target->owner;
}

Drafters& EngineAccess::drafters(Engine& engine) {
  return engine.impl_->drafters;
}

GrammarCompiler& EngineAccess::grammars(Engine& engine) {
  return *engine.impl_->grammars;
}

Decoder& EngineAccess::decoder(Engine& engine) {
  return *engine.impl_->decoder;
}

void EngineAccess::measure_costs(Engine& engine, bool anew) {
  SpeculationPlan every = engine.impl_->plan;
  every.drafters = engine.impl_->drafters.names();
  engine.impl_->costs->prepare(engine.impl_->probed_drafters(every), anew);
}

Model& EngineAccess::model(Engine& engine) {
  return *engine.impl_->target->model;
}

std::vector<EngineAccess::RowKeeper> EngineAccess::row_keepers(Engine& engine) {
  const Engine::Impl& impl = *engine.impl_;
  std::vector<RowKeeper> keepers;
  for (const std::string& name : impl.drafters.names()) {
    if (impl.drafters.custom(name)) continue;  // the rows that it may have are of another of them
    const std::unique_ptr<Drafter> drafter =
        impl.drafters.make(name, impl.plan, {.tokens = impl.target->model->context(), .owner = {}});
    SequenceRows* const rows = drafter->sequence_rows();
    if (rows == nullptr) continue;
    keepers.push_back({.identity = impl.drafters.cost_key(name, impl.plan),
                       .group = drafter->group(),
                       .cache = rows->cache(),
                       .features = rows->pool()});
  }
  return keepers;
}

MeasuredCosts EngineAccess::known_costs(const Engine& engine) {
  return report_costs(*engine.impl_->costs);
}

}  // namespace augur

std::string_view augur::version() {
  return build_info().version;
}

std::vector<augur::SpeculationType> augur::speculation_types() {
  std::vector<SpeculationType> types;
  for (const DrafterType& type : drafter_types()) {
    types.push_back({.name = std::string(type.name),
                     .alias = std::string(type.alias),
                     .needs_draft_model = type.needs_head,
                     .in_models = type.in_models,
                     .summary = std::string(type.summary)});
  }
  return types;
}

std::vector<augur::SpeculationPolicy> augur::speculation_policies() {
  std::vector<SpeculationPolicy> policies;
  for (const PolicyType& type : policy_types()) {
    policies.push_back({std::string(type.name), std::string(type.summary)});
  }
  return policies;
}
