#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "augur/model_description.h"
#include "base/cpu.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/hub_flags.h"
#include "cli/inspect_costs.h"
#include "cli/output.h"
#include "cli/tell.h"
#include "cli/validators.h"
#include "files/gguf/gguf.h"
#include "kernels/attention.h"
#include "model/config.h"
#include "model/recurrent_memory.h"
#include "model/weights.h"

namespace augur::cli {
namespace {

using nlohmann::ordered_json;

std::string_view name(RopeConfig::Scaling scaling) {
  switch (scaling) {
    case RopeConfig::Scaling::None:
      return "none";
    case RopeConfig::Scaling::Linear:
      return "linear";
    case RopeConfig::Scaling::Dynamic:
      return "dynamic";
    case RopeConfig::Scaling::Llama3:
      return "llama3";
    case RopeConfig::Scaling::Yarn:
      return "yarn";
    case RopeConfig::Scaling::Factors:
      return "factors";
  }
  return "?";
}

ordered_json describe_shape(const Checkpoint& checkpoint) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  ordered_json model = {
      {"family", config.family},
      {"layers", config.layers},
      {"hidden_size", config.hidden},
      {"intermediate_size", config.intermediate},
      {"heads", config.heads},
      {"kv_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"vocabulary", config.vocab},
      {"context", config.max_context},
      {"rope_theta", config.rope().none ? ordered_json() : ordered_json(config.rope().theta)},
      {"rope_scaling", name(config.rope().scaling)},
      {"tied_embeddings", config.tied_embeddings},
      {"qkv_bias", config.layer(0).qkv_bias},
      {"qk_norm", config.layer(config.first_attention()).qk_norm != QkNorm::None}};
  return model;
}

/// Null where there are none.
ordered_json describe_weights(const ModelDescription& found) {
  if (found.files.empty()) return nullptr;
  ordered_json types = ordered_json::object();
  for (const ModelDescription::WeightType& type : found.weight_types) types[type.name] = type.tensors;
  ordered_json drafts;  // null: the model has no layers that only draft
  if (!found.own_drafter.empty()) drafts = found.own_drafter;
  return {{"tensors", found.tensors},
          {"parameters", found.parameters},
          {"bytes", found.weight_bytes},
          {"types", types},
          {"own_drafter", drafts}};
}

/// What the model takes in memory as it is loaded by default. Null for folders that hold a draft head or
/// another part: their tensors are not those of the configuration.
ordered_json describe_memory(const Checkpoint& checkpoint) {
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  StoredWeights source(checkpoint.weights(), config.tied_embeddings);
  std::int64_t weights = 0;
  try {
    weights = packed_weight_bytes(config, {.floats = DType::BF16, .native = true}, source);
  } catch (const Error&) {
    return nullptr;
  }
  const std::int64_t attending = config.attention_layers();
  std::int64_t windowed = 0;  // layers
  std::int64_t window = 0;
  for (int i = 0; i < config.layers; ++i) {
    windowed += config.layer(i).window > 0 ? 1 : 0;
    window = std::max(window, config.layer(i).window);
  }
  const auto kv_token = [&](DType type) {
    return 2 * attending * config.kv_heads * kv_slot_bytes(type, config.head_dim);
  };
  const std::int64_t bf16 = kv_token(DType::BF16);
  // What is seen may begin and end within pages.
  const auto kept = [&](std::int64_t seen) { return std::min(config.max_context, seen + 2 * kKvPageSlots); };
  const std::int64_t slots = (attending - windowed) * config.max_context + windowed * kept(window);
  std::int64_t floats = 0;  // of states, a text's beside its keys and values
  for (int i = 0; i < config.layers; ++i) {
    const LayerSpec& layer = config.layer(i);
    if (layer.conv.taps > 0) floats += kept(layer.conv.taps) * config.hidden;
    if (layer.recurs()) floats += RecurrentMemory(layer.recurrent).state_floats();
  }
  const std::int64_t state = floats * static_cast<std::int64_t>(sizeof(float));
  ordered_json q8_0;
  if (config.head_dim % 32 == 0) q8_0 = kv_token(DType::Q8_0);
  return {
      {"weight_bytes", weights},     {"kv_bytes_per_token", {{"bf16", bf16}, {"q8_0", q8_0}}},
      {"windowed_layers", windowed}, {"window", window},
      {"state_bytes", state},        {"kv_bytes_full_context", {{"bf16", bf16 / attending * slots + state}}}};
}

/// The files of a model that is split; null for another.
ordered_json describe_parts(const ModelDescription& found) {
  if (found.files.size() < 2) return nullptr;
  ordered_json parts = ordered_json::array();
  for (const ModelDescription::File& file : found.files)
    parts.push_back({{"path", file.path}, {"tensors", file.tensors}, {"bytes", file.bytes}});
  return parts;
}

ordered_json describe_tokenizer(const Checkpoint& checkpoint) {
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  const auto token = [&](TokenId id) {
    return ordered_json{{"id", id}, {"text", tokenizer->token_bytes(id)}};
  };
  ordered_json eos = ordered_json::array();
  for (const TokenId id : tokenizer->eos) eos.push_back(token(id));
  return {{"vocabulary", tokenizer->vocab_size()},
          {"bos", tokenizer->bos ? token(*tokenizer->bos) : ordered_json()},
          {"eos", eos},
          {"add_bos", tokenizer->add_bos}};
}

/// Files that hold only a part of a model (a vocabulary, a configuration) are fine.
bool has_model(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf() &&
      checkpoint.gguf()->tensor_infos().empty()) {  // a vocabulary may come with some of the shapes
    return checkpoint.config().contains("num_hidden_layers");
  }
  return !checkpoint.config().empty();
}

bool has_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) return checkpoint.gguf()->contains("tokenizer.ggml.model");
  if (!std::filesystem::is_directory(checkpoint.path())) return checkpoint.config().empty();
  return std::filesystem::exists(checkpoint.path() / "tokenizer.json") ||
         std::filesystem::exists(checkpoint.path() / "tokenizer.model");
}

/// Everything that could be found out, section by section. A section that is not there is null; so is one
/// that cannot be read, and "problems" says why.
ordered_json describe_file(const std::string& path) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const ModelDescription described = describe_model(path);
  ordered_json problems = ordered_json::array();
  const auto note = [&](const std::string& problem) {
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
  };
  for (const ModelDescription::Problem& problem : described.problems) note(problem.text);
  const auto section = [&](bool present, auto&& make) -> ordered_json {
    if (!present) return nullptr;
    try {
      return make(checkpoint);
    } catch (const Error& error) {
      note(error.what());
      return nullptr;
    }
  };
  ordered_json found = {{"path", path},
                        {"format", checkpoint.is_gguf() ? "GGUF file" : "Hugging Face folder"},
                        {"parts", describe_parts(described)},
                        {"model", section(has_model(checkpoint), describe_shape)},
                        {"weights", describe_weights(described)},
                        {"memory", nullptr},  // what it is told of is read above
                        {"tokenizer", section(has_tokenizer(checkpoint), describe_tokenizer)},
                        {"chat_template", checkpoint.chat_template().has_value()},
                        {"cpu", cpu_model_name()},
                        {"isa", augur::name(select_isa())}};
  found["memory"] = section(!found["model"].is_null() && !found["weights"].is_null(), describe_memory);
  found["problems"] = std::move(problems);
  return found;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return digits;
}

void print(const ordered_json& found, Output& out) {
  const auto row = [&](std::string_view label, std::string_view value) {
    out.line(fmt::format("{:<14}{}", label, value));
  };
  const auto text = [](const ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  row("path", text(found["path"]));
  row("format", text(found["format"]));
  std::string_view parts_label = "parts";
  for (const ordered_json& part : found["parts"]) {
    row(parts_label, fmt::format("{}: {} tensors, {:.1f} MB", text(part["path"]), text(part["tensors"]),
                                 part["bytes"].get<double>() / 1e6));
    parts_label = "";
  }
  if (const ordered_json& model = found["model"]; !model.is_null()) {
    row("family", text(model["family"]));
    row("shape", fmt::format("{} layers of {}, feed-forward {}, {} heads and {} KV heads of {}{}{}{}",
                             text(model["layers"]), text(model["hidden_size"]),
                             text(model["intermediate_size"]), text(model["heads"]), text(model["kv_heads"]),
                             text(model["head_dim"]), model["qkv_bias"] == true ? ", QKV bias" : "",
                             model["qk_norm"] == true ? ", QK norm" : "",
                             model["tied_embeddings"] == true ? ", tied head" : ""));
    row("vocabulary", grouped(model["vocabulary"].get<std::int64_t>()));
    row("context", fmt::format("{} ({})", grouped(model["context"].get<std::int64_t>()),
                               model["rope_theta"].is_null()
                                   ? "nothing rotates"
                                   : fmt::format("rope theta {}, scaling {}", text(model["rope_theta"]),
                                                 text(model["rope_scaling"]))));
  }
  if (const ordered_json& weights = found["weights"]; !weights.is_null()) {
    std::string types;
    for (const auto& [type, count] : weights["types"].items()) {
      types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count.dump(), type);
    }
    row("parameters", grouped(weights["parameters"].get<std::int64_t>()));
    row("tensors", fmt::format("{} ({}), {:.1f} MB", text(weights["tensors"]), types,
                               weights["bytes"].get<double>() / 1e6));
    if (const ordered_json& own = weights["own_drafter"]; !own.is_null()) {
      row("drafts itself",
          fmt::format("with its own layers (--spec-type {}), where nothing else is named", text(own)));
    }
  }
  if (const ordered_json& memory = found["memory"]; !memory.is_null()) {
    const ordered_json& per_token = memory["kv_bytes_per_token"];
    const ordered_json& small = per_token["q8_0"];
    const auto states = memory["state_bytes"].get<double>();
    row("memory",
        fmt::format(
            "{:.1f} MB of packed weights; keys and values {:.1f} KB a token{}{}, {:.1f} MB for the whole "
            "context",
            memory["weight_bytes"].get<double>() / 1e6, per_token["bf16"].get<double>() / 1e3,
            small.is_null() ? "" : fmt::format(" (q8_0: {:.1f})", small.get<double>() / 1e3),
            states > 0 ? fmt::format(", states {:.1f} MB", states / 1e6) : "",
            memory["kv_bytes_full_context"]["bf16"].get<double>() / 1e6));
  }
  if (const ordered_json& tokenizer = found["tokenizer"]; !tokenizer.is_null()) {
    const auto token = [&](const ordered_json& t) {
      return t.is_null() ? std::string("none") : fmt::format("{} '{}'", text(t["id"]), text(t["text"]));
    };
    std::string eos;
    for (const ordered_json& t : tokenizer["eos"]) {
      if (!eos.empty()) eos += ", ";
      eos += token(t);
    }
    row("tokenizer",
        fmt::format("{} tokens, BOS {}{}, EOS {}", grouped(tokenizer["vocabulary"].get<std::int64_t>()),
                    token(tokenizer["bos"]), tokenizer["add_bos"] == true ? " (added to prompts)" : "",
                    eos.empty() ? "none" : eos));
  }
  row("chat template", found["chat_template"] == true ? "yes" : "no");
  row("kernels", fmt::format("{} on {}", text(found["isa"]), text(found["cpu"])));
}

int inspect(const std::string& path, bool json) {
  const ordered_json found = describe_file(path);
  Output out;
  if (json) {
    out.line(found.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    print(found, out);
  }
  for (const ordered_json& problem : found["problems"]) {
    tell("augur: {}\n", problem.get<std::string>());
  }
  out.finish();
  return found["problems"].empty() ? 0 : 1;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  struct Options {
    std::string model;
    bool json = false;
    bool costs = false;
    bool anew = false;
    EngineOptions engine;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Print what a model is: family, shapes, parameters, tokenizer, template, context");
  add_hub_flags(*command,
                command->add_option("MODEL", options->model, "Hugging Face folder or GGUF file")->required());
  command->add_flag("--json", options->json, "One JSON object");
  auto* costs =
      command->add_flag("--costs", options->costs,
                        "Print what the model and its drafters cost on this machine, which policies "
                        "decide by; measured if that is not known yet");
  command->add_flag("--measure", options->anew, "Measure even so")->needs(costs);
  CLI::Option* draft =
      command->add_option("--spec-draft-model", options->engine.draft_model, "Draft model or head (-md)");
  draft->needs(costs);
  add_draft_hub_flag(*command, draft);
  command
      ->add_option("-t,--threads", options->engine.threads, "Threads; 0: one for each core that it may use")
      ->check(in_range(0, 1024))
      ->needs(costs);
  command->callback([options, &action] {
    action = [options] {
      if (!options->costs) return inspect(options->model, options->json);
      options->engine.model = options->model;
      options->engine.speculation.drafters = {"none"};  // nothing is to be measured before it is asked for
      use_own_layers(options->engine);
      return inspect_costs(options->engine, options->anew, options->json);
    };
  });
}

}  // namespace augur::cli
