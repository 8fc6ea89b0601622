#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace augur {

/// Bytes of memory that this process can have at all: the machine's, or the least limit of its control groups
/// (base/control_group.h). None: not known. `root` as there.
std::optional<std::int64_t> memory_limit(const std::filesystem::path& root = "/");

/// Bytes of memory that this process may take without anything being swapped: what Linux says is available,
/// and what its control groups' limits leave. 0: there is none left; none: not known.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

/// Error, with the sizes, where `bytes` beside what this process holds already (files it has mapped do not
/// count) exceed memory_limit(). `what` (plural) takes them. To be asked before they are filled.
void require_memory(std::string_view what, std::int64_t bytes, const std::filesystem::path& root = "/");

}  // namespace augur
