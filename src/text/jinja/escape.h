#pragma once
#include "text/jinja/text.h"

namespace augur::jinja {

/// Appends `text` with &, <, > and quotes as markupsafe.escape() writes them.
void add_escaped(const Text& text, TextBuilder& to);

}  // namespace augur::jinja
