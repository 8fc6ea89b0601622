#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/engine.h"
#include "checkpoint/checkpoint.h"
#include "kernels/backend.h"
#include "model/device.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace augur {

/// Progress of one named stage of loading; empty where nobody asked.
std::function<void(double)> loading_stage(const EngineOptions& options, std::string what);

/// The target model with everything that turns requests into its tokens. Engines that differ in their
/// drafters share one. Once it is loaded its const functions are for any thread; the model is for one at a
/// time over all of the engines, as its workspace is one.
struct LoadedTarget {
  // Order matters: the model uses the device, and that the backend.
  std::string path;
  Backend backend;
  std::unique_ptr<Device> device;  ///< that the model is on; null: the host
  Checkpoint checkpoint;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<TokenId> suppressed;  ///< that are never drawn
  TemplateLimits template_limits;
  std::string template_source;  ///< of the chat template that is used; empty: there is none
  /// It is not the model's own, and knows nothing of what its texts begin with.
  bool foreign_template = false;
  std::optional<ChatTemplate> chat_template;
  std::string template_kwargs;   ///< EngineOptions::template_kwargs
  bool template_date;            ///< EngineOptions::template_date
  std::unique_ptr<Model> model;  ///< null until load()

  /// Everything but the weights.
  explicit LoadedTarget(const EngineOptions& options);
  void load(const EngineOptions& options);

  /// The request's messages. Error when there is no template.
  MarkedText render(const Request& request) const;
  /// BOS included where the tokenizer says so.
  std::vector<TokenId> encode(std::string_view text, bool parse_special) const;
  /// Error when the request has more than one kind of prompt.
  std::vector<TokenId> prompt(const Request& request) const;
  ModelInfo describe() const;

 private:
  void choose_template(const EngineOptions& options);
};

}  // namespace augur
