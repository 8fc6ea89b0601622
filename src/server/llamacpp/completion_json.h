#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "augur/engine.h"

namespace augur {

/// The settings that a request is generated with, under llama.cpp's names.
nlohmann::ordered_json generation_settings(const Request& request, bool stream, const ModelInfo& model);

/// What llama.cpp answers to /completion, and what `__verbose` shows of another API's answer.
struct CompletionParts {
  const Request& request;  ///< of this choice, its seed included
  const Result& result;
  const std::string& prompt;  ///< as text
  const std::string& model;   ///< its name
  int index = 0;              ///< of the choice
  int slot = -1;              ///< its place
  bool stream = false;
  bool has_text = true;  ///< it was not streamed before
  bool return_tokens = false;
};
nlohmann::ordered_json completion_json(const Engine& engine, const CompletionParts& parts);

}  // namespace augur
