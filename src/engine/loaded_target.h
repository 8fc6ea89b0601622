#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/engine.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "engine/engine_owner.h"
#include "kernels/backend.h"
#include "model/device.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace augur {

/// A callback for the progress (0 to 1) of the loading stage `what`; empty if the options have none.
std::function<void(double)> loading_stage(const EngineOptions& options, std::string what);

/// The target model and what turns requests into its tokens. Engines that differ only in their drafters share
/// one. After load() any thread may call the const functions; `model` is for one thread at a time over all
/// engines that share it, because it has one workspace.
struct LoadedTarget {
  // Order matters: the model uses the device, and that the backend; the checkpoint holds the files.
  EngineOwner owner;
  Log log;  ///< EngineOptions::log
  Checkpoint checkpoint;
  std::string path;  ///< or a name (EngineOptions::model_content)
  Backend backend;
  std::unique_ptr<Device> device;  ///< that runs the model; null: the host
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<TokenId> suppressed;  ///< tokens that are never sampled
  TemplateLimits template_limits;
  std::string template_source;  ///< source of the chat template in use; empty: there is none
  /// The template is not the model's own, so it does not write what the model's texts begin with (BOS).
  bool foreign_template = false;
  std::optional<ChatTemplate> chat_template;
  std::string template_kwargs;   ///< EngineOptions::template_kwargs
  bool template_date;            ///< EngineOptions::template_date
  std::unique_ptr<Model> model;  ///< null until load()

  /// Loads everything but the weights. Throws Error for files or options that are invalid.
  explicit LoadedTarget(const EngineOptions& options);
  void load(const EngineOptions& options);

  /// Renders the request's messages. Throws Error if there is no template.
  MarkedText render(const Request& request) const;
  /// Adds BOS if the tokenizer's settings ask for it.
  std::vector<TokenId> encode(std::string_view text, bool parse_special) const;
  /// The request's prompt as tokens. Throws Error if the request has more than one kind of prompt.
  std::vector<TokenId> prompt(const Request& request) const;
  ModelInfo describe() const;

 private:
  void choose_template(const EngineOptions& options);
};

}  // namespace augur
