#pragma once
#include <span>
#include <string_view>

namespace augur {

/// A chat template that is asked for by name (`--chat-template NAME`), for models that bring none: the plain
/// conversations of a family, without tools. The names are llama.cpp's. None writes a beginning of sequence:
/// that is the tokenizer's to say (LoadedTarget::prompt).
struct KnownTemplate {
  std::string_view name;
  std::string_view source;  ///< Jinja (chat_template.h)
};

/// By rising name.
std::span<const KnownTemplate> known_templates();

/// The source of one; empty: there is none of this name.
std::string_view known_template(std::string_view name);

}  // namespace augur
