#include "augur/engine.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "api/engine_access.h"
#include "api/generation.h"
#include "api/live_costs.h"
#include "api/loaded_target.h"
#include "base/error.h"
#include "decode/decoder.h"
#include "draft/detect.h"
#include "io/checkpoint.h"

#ifndef AUGUR_VERSION
#error "AUGUR_VERSION comes from the build"
#endif

namespace augur {
namespace {

constexpr int kMaxParallel = 4096;

}  // namespace

std::string_view version() {
  return AUGUR_VERSION;
}

std::vector<SpeculationType> speculation_types() {
  std::vector<SpeculationType> types;
  for (const DrafterType& type : drafter_types()) {
    types.push_back({std::string(type.name), std::string(type.alias), type.needs_head});
  }
  return types;
}

std::vector<SpeculationPolicy> speculation_policies() {
  std::vector<SpeculationPolicy> policies;
  for (const PolicyType& type : policy_types()) {
    policies.push_back({std::string(type.name), std::string(type.summary)});
  }
  return policies;
}

struct Engine::Impl {
  // Order matters: drafters and decoder use the target, drafters the vocabulary.
  std::shared_ptr<LoadedTarget> target;
  SpeculationOptions speculation;
  std::optional<Checkpoint> draft_checkpoint;
  std::string head_type;  ///< what draft_checkpoint is used as
  std::optional<VocabularyChoice> vocabulary;
  std::vector<LoadedDrafter> drafters;
  std::unique_ptr<PolicyCache> policies;
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<LiveCosts> costs;
  std::function<void(std::string_view)> warning;
  ModelInfo info;

  /// Loads the target where it is not loaded yet.
  Impl(std::shared_ptr<LoadedTarget> shared, const EngineOptions& options);
  void open_draft_model(const EngineOptions& options);
  /// Error for a vocabulary that no drafter would use.
  void check_vocabulary(const VocabularySpec& spec, const std::string& text) const;
  void load_drafters(const EngineOptions& options);
  /// With "auto" replaced by what it stands for.
  SpeculationOptions resolve(SpeculationOptions asked) const;
  void prepare_costs(const std::string& cost_cache);
  /// What the policy of these options says of itself, and what it wants to know.
  void prepare_policy(const SpeculationOptions& asked);
  std::unique_ptr<Generation> start(const Request& request, const TokenCallback& on_token,
                                    const EngineAccess::Prepare& prepare = {});
  Result run(Generation& generation);
};

Engine::Impl::Impl(std::shared_ptr<LoadedTarget> shared, const EngineOptions& options)
    : target(std::move(shared)), speculation(options.speculation), warning(options.warning) {
  // What cannot be is found before anything big is read.
  open_draft_model(options);
  const VocabularySpec spec = VocabularySpec::parse(options.draft_vocabulary);
  check_vocabulary(spec, options.draft_vocabulary);
  if (target->model == nullptr) target->load(options);
  vocabulary.emplace(spec, target->model->fingerprint(), target->tokenizer->eos);
  load_drafters(options);
  check_speculation(speculation, drafters);
  policies = std::make_unique<PolicyCache>(*target->model, target->path);
  decoder = std::make_unique<Decoder>(*target->model);
  prepare_costs(options.cost_cache);
  prepare_policy(speculation);
  info = target->describe();
}

void Engine::Impl::open_draft_model(const EngineOptions& options) {
  if (!options.draft_model.empty()) {
    draft_checkpoint = Checkpoint::open(options.draft_model);
    for (const std::string& type : speculation.types) {
      if (type == "auto" || type == "none") continue;
      if (const DrafterType& known = find_drafter_type(type); known.needs_head) head_type = known.name;
    }
    if (head_type.empty()) head_type = detect_drafter_type(*draft_checkpoint);
  }
  speculation = resolve(std::move(speculation));
  drafter_names(speculation);
}

SpeculationOptions Engine::Impl::resolve(SpeculationOptions asked) const {
  for (std::string& type : asked.types) {
    if (type != "auto") continue;
    if (head_type.empty()) throw Error("speculation type 'auto' needs a draft model, and none was given");
    type = head_type;
  }
  return asked;
}

void Engine::Impl::check_vocabulary(const VocabularySpec& spec, const std::string& text) const {
  if (spec.kind == VocabularySpec::Kind::Full) return;
  const std::vector<std::string>& types = speculation.types;
  const bool any = std::any_of(types.begin(), types.end(), [](const std::string& type) {
    return type != "none" && find_drafter_type(type).projects;
  });
  if (any || (!head_type.empty() && find_drafter_type(head_type).projects)) return;
  throw Error("draft vocabulary '{}': nothing that drafts here ({}) has a vocabulary to choose from", text,
              fmt::join(types, ", "));
}

void Engine::Impl::load_drafters(const EngineOptions& options) {
  const DrafterSource source{.backend = target->backend,
                             .target = *target->model,
                             .tokenizer = *target->tokenizer,
                             .target_path = target->path,
                             .head = draft_checkpoint ? &*draft_checkpoint : nullptr,
                             .context = target->model->context(),
                             .vocabulary = &*vocabulary,
                             .datastore = options.datastore,
                             .progress = loading_stage(options, "draft model")};
  // What needs no weights of its own is always there.
  for (const DrafterType& type : drafter_types()) {
    if (type.needs_head && type.name != head_type) continue;
    drafters.push_back({std::string(type.name), type.load(source)});
  }
}

void Engine::Impl::prepare_costs(const std::string& cost_cache) {
  const std::filesystem::path folder = cost_cache.empty()     ? default_cost_folder()
                                       : cost_cache == "none" ? std::filesystem::path()
                                                              : std::filesystem::path(cost_cache);
  costs = std::make_unique<LiveCosts>(*target->model, *decoder, drafters,
                                      CostCache(folder, *target->model, target->path, warning),
                                      draft_checkpoint ? draft_identity(*draft_checkpoint) : std::string());
}

void Engine::Impl::prepare_policy(const SpeculationOptions& asked) {
  const auto [policy, fresh] = policies->get(asked);
  if (fresh && warning && !policy->warning().empty()) warning(policy->warning());
  if (!policy->needs_costs() || drafter_names(asked).empty()) return;
  costs->prepare(asked);
}

std::unique_ptr<Generation> Engine::Impl::start(const Request& request, const TokenCallback& on_token,
                                                const EngineAccess::Prepare& prepare) {
  const GenerationContext context{.target = *target->model,
                                  .tokenizer = *target->tokenizer,
                                  .context = target->model->context(),
                                  .drafters = drafters,
                                  .policies = *policies,
                                  .prepare = prepare};
  const SpeculationOptions asked = resolve(request.speculation.value_or(speculation));
  check_speculation(asked, drafters);
  prepare_policy(asked);
  return std::make_unique<Generation>(context, request, target->prompt(request), asked, on_token);
}

Result Engine::Impl::run(Generation& generation) {
  Sequence* const sequence = &generation.sequence();
  for (generation.poll_cancel(); !sequence->finished(); generation.poll_cancel()) {
    decoder->step({&sequence, 1});
  }
  return generation.finish();
}

Engine::Engine(const EngineOptions& options)
    : impl_(std::make_unique<Impl>(std::make_shared<LoadedTarget>(options), options)) {}
Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result Engine::generate(const Request& request, const TokenCallback& on_token) {
  return impl_->run(*impl_->start(request, on_token));
}

void Engine::generate_many(std::span<const Request> requests, int parallel, const ResultCallback& on_result,
                           const IndexedTokenCallback& on_token) {
  if (parallel < 1 || parallel > kMaxParallel) {
    throw Error("{} parallel generations are not possible: expected 1 to {}", parallel, kMaxParallel);
  }
  struct Running {
    std::size_t index;
    std::unique_ptr<Generation> generation;
  };
  std::vector<Running> running;
  std::vector<Sequence*> sequences;
  const auto report = [&](std::size_t index, const std::function<Result()>& make) {
    Result result;
    try {
      result = make();
    } catch (const Error& error) {
      result = {};
      result.finish_reason = "error";
      result.error = error.what();
    }
    if (on_result) on_result(index, std::move(result));
  };
  const auto token_callback = [&](std::size_t index) -> TokenCallback {
    if (!on_token) return {};
    return [&on_token, index](const TokenEvent& event) { return on_token(index, event); };
  };
  std::size_t next = 0;
  while (next < requests.size() || !running.empty()) {
    while (next < requests.size() && running.size() < static_cast<std::size_t>(parallel)) {
      const std::size_t index = next++;
      try {
        running.push_back({index, impl_->start(requests[index], token_callback(index))});
      } catch (const Error&) {
        report(index, [error = std::current_exception()]() -> Result { std::rethrow_exception(error); });
      }
    }
    sequences.clear();
    for (Running& r : running) {
      r.generation->poll_cancel();
      sequences.push_back(&r.generation->sequence());
    }
    impl_->decoder->step(sequences);
    for (Running& r : running) {
      if (!r.generation->sequence().finished()) continue;
      report(r.index, [&] { return r.generation->finish(); });
      r.generation.reset();
    }
    std::erase_if(running, [](const Running& r) { return r.generation == nullptr; });
  }
}

MeasuredCosts Engine::costs(bool anew) {
  impl_->costs->prepare(impl_->speculation, anew);
  return impl_->costs->report();
}

const ModelInfo& Engine::info() const {
  return impl_->info;
}

std::vector<TokenId> Engine::tokenize(std::string_view text) const {
  return impl_->target->encode(text);
}

std::string Engine::detokenize(std::span<const TokenId> tokens, bool show_special) const {
  return impl_->target->tokenizer->decode({tokens.begin(), tokens.end()}, show_special);
}

std::string Engine::render_chat(std::span<const Message> messages) const {
  return impl_->target->render(messages);
}

std::vector<TokenId> Engine::prompt_tokens(const Request& request) const {
  return impl_->target->prompt(request);
}

Engine EngineAccess::sibling(const Engine& engine, const EngineOptions& options) {
  return Engine(std::make_unique<Engine::Impl>(engine.impl_->target, options));
}

Result EngineAccess::generate(Engine& engine, const Request& request, const TokenCallback& on_token,
                              const Prepare& prepare) {
  return engine.impl_->run(*engine.impl_->start(request, on_token, prepare));
}

Model& EngineAccess::model(Engine& engine) {
  return *engine.impl_->target->model;
}

MeasuredCosts EngineAccess::known_costs(const Engine& engine) {
  return engine.impl_->costs->report();
}

}  // namespace augur
