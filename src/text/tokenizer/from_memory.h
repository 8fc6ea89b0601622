#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace augur {

// What the loaders of tokenizer_loaders.h do once they have a file's content; `file` is for messages.

std::unique_ptr<Tokenizer> tokenizer_from_json(const nlohmann::json& content, const std::string& file,
                                               const nlohmann::json& tokenizer_config);
std::unique_ptr<Tokenizer> tokenizer_from_sentencepiece(std::string_view content, const std::string& file,
                                                        const nlohmann::json& tokenizer_config);

}  // namespace augur
