#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace augur {

/// ggml's number of an element type, as GGUF files have it. Empty for types that this project does not read.
std::optional<DType> ggml_dtype(std::uint32_t type);

/// The reverse; empty for a type that GGUF does not have.
std::optional<std::uint32_t> ggml_type(DType dtype);

/// Its name, also of types that are not read; for messages.
std::string_view ggml_type_name(std::uint32_t type);

}  // namespace augur
