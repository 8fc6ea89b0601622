#include "engine/loaded_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "checkpoint/token_ids.h"
#include "cost/measured_file.h"
#include "cost/product_traversals.h"
#include "engine/model_content.h"
#include "kernels/law.h"
#include "text/prompt_text.h"

namespace augur {
std::function<void(double)> loading_stage(const EngineOptions& options, std::string what) {
  if (!options.progress) return {};
  return [progress = options.progress, what = std::move(what)](double fraction) { progress(what, fraction); };
}

LoadedTarget::LoadedTarget(const EngineOptions& options)
    : log(options.log),
      checkpoint(open_model(options.model_content, options.model)),
      path(checkpoint.path().string()),
      backend(options.threads, options.pin_threads,
              isa_under(options.law, options.isa.empty() ? select_isa() : parse_isa(options.isa))),
      tokenizer(checkpoint.shared_tokenizer()),
      suppressed(suppressed_tokens(checkpoint, *tokenizer)),
      template_limits(options.template_limits),
      template_kwargs(options.template_kwargs),
      template_date(options.template_date) {
  if (options.context < 0)
    throw Error(refused("context"), "the context is {}: expected 0 or more tokens", options.context);
  if (template_limits.steps < 1 || template_limits.bytes < 1)
    throw Error(refused("template_limits"),
                "a template's limits are {} steps and {} bytes: expected positive numbers",
                template_limits.steps, template_limits.bytes);
  if (!template_kwargs.empty()) parse_template_kwargs(template_kwargs);  // its errors come before any request
  choose_template(options);
}

void LoadedTarget::choose_template(const EngineOptions& options) {
  if (!options.chat_template.empty()) {
    foreign_template = true;
    template_source = options.chat_template;
    chat_template.emplace(template_source, template_limits);
    return;
  }
  template_source = checkpoint.chat_template().value_or("");
  if (template_source.empty() && !options.fallback_template.empty()) {
    foreign_template = true;
    template_source = options.fallback_template;
    log.warning("{} has no chat template: chats get a common one", path);
  }
  if (template_source.empty()) return;
  // A template that cannot be parsed matters only to requests that use it.
  try {
    chat_template.emplace(template_source, template_limits);
  } catch (const Error&) {
  }
}

void LoadedTarget::load(const EngineOptions& options) {
  model = Model::load(backend, checkpoint,
                      {.weights = options.weights,
                       .kv = options.kv,
                       .context = options.context,
                       .progress = loading_stage(options, "model"),
                       .device = device.get()});
  if (device == nullptr) prepare_products(*model, measured_folder(options.cost_cache), log);
}

MarkedText LoadedTarget::render(const Request& request) const {
  if (template_source.empty()) throw Error(ErrorKind::Unsupported, "{} has no chat template", path);
  const ChatText chat{.messages = request.messages,
                      .tools = request.tools,
                      .kwargs = request.template_kwargs,
                      .end = request.chat_end,
                      .own_kwargs = template_kwargs,
                      .date = template_date};
  // Parsing again where it failed at load gives its error.
  return chat_template ? render_chat(*chat_template, *tokenizer, chat)
                       : render_chat(ChatTemplate(template_source, template_limits), *tokenizer, chat);
}

std::vector<TokenId> LoadedTarget::encode(std::string_view text, bool parse_special) const {
  return encode_text(*tokenizer, text, parse_special);
}

std::vector<TokenId> LoadedTarget::prompt(const Request& request) const {
  const int given = !request.prompt.empty() + !request.prompt_tokens.empty() + !request.messages.empty();
  if (given > 1)
    throw Error(refused("prompt"), "a request has more than one of prompt, prompt_tokens and messages");
  if (!request.prompt_tokens.empty()) return request.prompt_tokens;
  if (!request.messages.empty()) {
    std::vector<TokenId> ids = encode_chat(*tokenizer, render(request));
    if (foreign_template) begin_text(*tokenizer, ids);
    return ids;
  }
  return encode(request.prompt, true);
}

namespace {

/// ModelInfo::law.
int law_number_of(const Model& model) {
  return law_number(model.backend().kernels.isa, model.types());
}

/// ModelInfo::fingerprint.
std::string fingerprint_of(const Model& model) {
  std::string weights = model.weight_types();
  std::erase(weights, ' ');
  std::replace(weights.begin(), weights.end(), ',', '+');
  const std::string rotations = rotation_digest(model.config(), model.context());
  return fmt::format("augur-{}-law{}-{}-{}-kv-{}{}{}", version(), law_number_of(model),
                     model.fingerprint().digest, weights, name(model.kv_type()),
                     rotations.empty() ? "" : "-rope-", rotations);
}

}  // namespace

ModelInfo LoadedTarget::describe() const {
  ModelInfo info;
  info.path = path;
  info.family = model->config().family;
  info.vocab = model->config().vocab;
  info.hidden = model->config().hidden;
  info.layers = model->config().layers;
  info.context = model->context();
  info.weight_bytes = model->weight_bytes();
  info.weights = model->weight_types();
  info.isa = name(backend.kernels.isa);
  info.law = law_number_of(*model);
  info.threads = backend.pool.size();
  info.has_chat_template = !template_source.empty();
  info.end_tokens.assign(tokenizer->eos.begin(), tokenizer->eos.end());
  if (tokenizer->bos) info.bos_token = tokenizer->token_bytes(*tokenizer->bos);
  if (!tokenizer->eos.empty()) info.eos_token = tokenizer->token_bytes(tokenizer->eos.front());
  info.fingerprint = fingerprint_of(*model);
  return info;
}

}  // namespace augur
