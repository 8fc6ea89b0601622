#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Enumerations, and the word for each value in flags, the C interface and results.
namespace augur {
inline namespace abi1 {

/// Type of the weights in memory. Native: quantised weights (GGUF) stay as they are stored, others are bf16.
/// Auto: the same. BF16 and F32: all weights are converted at load.
enum class WeightFormat : std::uint8_t { Auto, Native, BF16, F32 };

/// Type of the matrices of a draft model or head in memory. Auto: as stored, but floats become 4 bits (Q4_1)
/// if that is faster on this machine. Native: as stored. The others: every matrix whose rows are whole blocks
/// of the type is converted to it.
enum class DraftWeightFormat : std::uint8_t { Auto, Native, BF16, Q8_0, Q4_0, Q4_1 };

/// Type of keys and values in memory. Auto: BF16, or F32 with F32 weights. Q8_0 takes little more than half
/// of BF16's memory; the width of heads must be a multiple of 32.
enum class KvFormat : std::uint8_t { Auto, BF16, Q8_0, F32 };

/// Order of sums in products with bf16 weights (docs/law.md). Chain: an order that every processor can
/// compute. Blocks: the order of AMX's tile unit; needs AMX, and is faster there. Auto: the faster one on
/// this machine. All other sums have one order.
enum class ArithmeticLaw : std::uint8_t { Auto, Chain, Blocks };

/// How a drafted tree is checked. Walk: the text is byte-identical to plain decoding. Rejection: the classic
/// rejection sampling; the same distribution, but not the same bytes (greedy: the same bytes).
enum class Verification : std::uint8_t { Walk, Rejection };

/// Why a generation ended. Stop: an end-of-sequence token or a stop string. Length: max_tokens were
/// generated, or the context is full. Error: it was refused or failed. None: it has not ended.
enum class FinishReason : std::uint8_t { None, Stop, Length, Cancelled, Error };

/// Notation of a Grammar. Json: any JSON object; the text is empty. JsonSchema: a JSON schema, draft 2020-12.
/// Regex: a regular expression that the whole text matches. Gbnf: llama.cpp's notation. Ebnf: xgrammar's.
/// StructuralTag: xgrammar's structural tag, texts and tokens around parts, each with its own grammar.
enum class GrammarKind : std::uint8_t { Json, JsonSchema, Regex, Gbnf, Ebnf, StructuralTag };

/// The words of an enumeration, by value.
constexpr std::array<std::string_view, 4> words(WeightFormat) {
  return {"auto", "native", "bf16", "f32"};
}
constexpr std::array<std::string_view, 6> words(DraftWeightFormat) {
  return {"auto", "native", "bf16", "q8_0", "q4_0", "q4_1"};
}
constexpr std::array<std::string_view, 4> words(KvFormat) {
  return {"auto", "bf16", "q8_0", "f32"};
}
constexpr std::array<std::string_view, 3> words(ArithmeticLaw) {
  return {"auto", "chain", "blocks"};
}
constexpr std::array<std::string_view, 2> words(Verification) {
  return {"walk", "rejection"};
}
constexpr std::array<std::string_view, 5> words(FinishReason) {
  return {"", "stop", "length", "cancelled", "error"};
}

constexpr std::array<std::string_view, 6> words(GrammarKind) {
  return {"json", "json-schema", "regex", "gbnf", "ebnf", "structural-tag"};
}

template <class Enum>
concept Worded = requires(Enum value) {
  words(value).size();
};

/// The word; a zero byte follows it. Always valid.
template <Worded Enum>
constexpr std::string_view to_string(Enum value) {
  return words(value)[static_cast<std::size_t>(value)];
}

}  // namespace abi1
}  // namespace augur
