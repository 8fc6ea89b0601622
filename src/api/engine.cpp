#include "augur/engine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/generation.h"
#include "base/error.h"
#include "decode/decoder.h"
#include "draft/detect.h"
#include "io/chat_template.h"
#include "io/checkpoint.h"
#include "kernels/backend.h"

#ifndef AUGUR_VERSION
#error "AUGUR_VERSION comes from the build"
#endif

namespace augur {
namespace {

constexpr int kMaxParallel = 4096;

WeightType weight_type(WeightFormat format) {
  switch (format) {
    case WeightFormat::BF16:
      return WeightType::BF16;
    case WeightFormat::F32:
      return WeightType::F32;
    case WeightFormat::Auto:
      break;
  }
  return WeightType::Auto;
}

std::function<void(double)> staged(const EngineOptions& options, std::string what) {
  if (!options.progress) return {};
  return [progress = options.progress, what = std::move(what)](double fraction) { progress(what, fraction); };
}

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
  // Order matters: drafters and decoder use the model, everything uses the backend.
  std::string path;
  SpeculationOptions speculation;
  Backend backend;
  Checkpoint checkpoint;
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;
  std::unique_ptr<Model> model;
  std::optional<Checkpoint> draft_checkpoint;
  std::string head_type;  ///< what draft_checkpoint is used as
  std::vector<LoadedDrafter> drafters;
  std::unique_ptr<PolicyCache> policies;
  std::unique_ptr<Decoder> decoder;
  ModelInfo info;

  explicit Impl(const EngineOptions& options);
  void open_draft_model(const EngineOptions& options);
  void load_drafters(const EngineOptions& options);
  /// With "auto" replaced by what it stands for.
  SpeculationOptions resolve(SpeculationOptions asked) const;
  void describe();
  GenerationContext context() { return {*model, *tokenizer, model->context(), drafters, *policies}; }
  std::string render(std::span<const Message> messages) const;
  std::vector<TokenId> encode(std::string_view text) const;
  std::vector<TokenId> prompt(const Request& request) const;
  std::unique_ptr<Generation> start(const Request& request, const TokenCallback& on_token);
};

Engine::Impl::Impl(const EngineOptions& options)
    : path(options.model),
      speculation(options.speculation),
      backend(options.threads, options.pin_threads,
              options.isa.empty() ? select_isa() : parse_isa(options.isa)),
      checkpoint(Checkpoint::open(options.model)),
      tokenizer(checkpoint.load_tokenizer()) {
  if (options.context < 0) throw Error("the context is {}: expected 0 or more tokens", options.context);
  open_draft_model(options);  // unknown names are found before anything big is read
  model = Model::load(backend, checkpoint,
                      {.weights = weight_type(options.weights),
                       .context = options.context,
                       .progress = staged(options, "model")});
  load_drafters(options);
  check_speculation(speculation, drafters);
  policies = std::make_unique<PolicyCache>(*model, path);
  policies->get(speculation);
  decoder = std::make_unique<Decoder>(*model);
  if (const auto source = checkpoint.chat_template()) {
    // A template that cannot be parsed matters only to requests that use it.
    try {
      chat_template.emplace(*source);
    } catch (const Error&) {
    }
  }
  describe();
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

void Engine::Impl::load_drafters(const EngineOptions& options) {
  const DrafterSource source{.backend = backend,
                             .target = *model,
                             .tokenizer = *tokenizer,
                             .target_path = path,
                             .head = draft_checkpoint ? &*draft_checkpoint : nullptr,
                             .context = model->context(),
                             .datastore = options.datastore,
                             .progress = staged(options, "draft model")};
  // What needs no weights of its own is always there.
  for (const DrafterType& type : drafter_types()) {
    if (type.needs_head && type.name != head_type) continue;
    drafters.push_back({std::string(type.name), type.load(source)});
  }
}

void Engine::Impl::describe() {
  info.path = path;
  info.family = model->config().family;
  info.vocab = model->config().vocab;
  info.context = model->context();
  info.weight_bytes = model->weight_bytes();
  info.weights = model->weight_type() == DType::F32 ? "f32" : "bf16";
  info.isa = name(backend.kernels.isa);
  info.threads = backend.pool.size();
  info.has_chat_template = checkpoint.chat_template().has_value();
}

std::string Engine::Impl::render(std::span<const Message> messages) const {
  const auto source = checkpoint.chat_template();
  if (!source) throw Error("{} has no chat template", path);
  std::vector<ChatMessage> chat;
  for (const Message& m : messages) chat.push_back({m.role, m.content});
  nlohmann::json extra = nlohmann::json::object();
  extra["bos_token"] = tokenizer->bos ? tokenizer->token_bytes(*tokenizer->bos) : "";
  extra["eos_token"] = tokenizer->eos.empty() ? "" : tokenizer->token_bytes(tokenizer->eos.front());
  // Parsing again where it failed at load gives its error.
  return chat_template ? chat_template->render(chat, true, extra)
                       : ChatTemplate(*source).render(chat, true, extra);
}

std::vector<TokenId> Engine::Impl::encode(std::string_view text) const {
  std::vector<TokenId> ids = tokenizer->encode(text);
  const bool has_bos = !ids.empty() && tokenizer->bos && ids.front() == *tokenizer->bos;
  if (tokenizer->add_bos && tokenizer->bos && !has_bos) ids.insert(ids.begin(), *tokenizer->bos);
  return ids;
}

std::vector<TokenId> Engine::Impl::prompt(const Request& request) const {
  const int given = !request.prompt.empty() + !request.prompt_tokens.empty() + !request.messages.empty();
  if (given > 1) throw Error("a request has more than one of prompt, prompt_tokens and messages");
  if (!request.prompt_tokens.empty()) return request.prompt_tokens;
  if (!request.messages.empty()) return tokenizer->encode(render(request.messages));
  return encode(request.prompt);
}

std::unique_ptr<Generation> Engine::Impl::start(const Request& request, const TokenCallback& on_token) {
  return std::make_unique<Generation>(context(), request, prompt(request),
                                      resolve(request.speculation.value_or(speculation)), on_token);
}

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result Engine::generate(const Request& request, const TokenCallback& on_token) {
  const std::unique_ptr<Generation> generation = impl_->start(request, on_token);
  Sequence* const sequence = &generation->sequence();
  for (generation->poll_cancel(); !sequence->finished(); generation->poll_cancel()) {
    impl_->decoder->step({&sequence, 1});
  }
  return generation->finish();
}

void Engine::generate_many(std::span<const Request> requests, int parallel, const ResultCallback& on_result) {
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
  std::size_t next = 0;
  while (next < requests.size() || !running.empty()) {
    while (next < requests.size() && running.size() < static_cast<std::size_t>(parallel)) {
      const std::size_t index = next++;
      try {
        running.push_back({index, impl_->start(requests[index], {})});
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

const ModelInfo& Engine::info() const {
  return impl_->info;
}

std::vector<TokenId> Engine::tokenize(std::string_view text) const {
  return impl_->encode(text);
}

std::string Engine::detokenize(std::span<const TokenId> tokens, bool show_special) const {
  return impl_->tokenizer->decode({tokens.begin(), tokens.end()}, show_special);
}

std::string Engine::render_chat(std::span<const Message> messages) const {
  return impl_->render(messages);
}

std::vector<TokenId> Engine::prompt_tokens(const Request& request) const {
  return impl_->prompt(request);
}

}  // namespace augur
