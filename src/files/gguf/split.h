#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace augur {

// A GGUF file may be split into parts, NAME-00001-of-00005.gguf and so on, as llama.cpp's gguf-split writes
// them: the first has the metadata, and each has some of the tensors. Each says under these keys which part
// it is (from 0), of how many, and how many tensors all have together.
inline constexpr const char* kSplitNumberKey = "split.no";
inline constexpr const char* kSplitCountKey = "split.count";
inline constexpr const char* kSplitTensorsKey = "split.tensors.count";
inline constexpr std::int64_t kMostSplitParts = 65535;  ///< the keys are 16-bit numbers

bool is_split_key(std::string_view key);

/// What the name of a part says.
struct SplitName {
  std::string prefix;       ///< NAME, with its folder if there is one
  std::int64_t number = 1;  ///< from 1
  std::int64_t count = 1;
};

/// Empty for a name of another form.
std::optional<SplitName> parse_split_name(std::string_view name);

/// PREFIX-0000N-of-0000M.gguf
std::string split_name(const SplitName& name);

}  // namespace augur
