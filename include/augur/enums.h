#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Facts with a few values, and the word that each value is written as: by flags, the C interface and results.
namespace augur {

/// What weights are kept in. Native: quantised ones (GGUF) are computed on as they are stored, others in
/// bf16. Auto is the same. BF16 and F32 expand everything at load.
enum class WeightFormat : std::uint8_t { Auto, Native, BF16, F32 };

/// What the matrices of a draft model or head are kept in. Auto: as they are stored, but
/// floats in 4 bits (Q4_1) where that is faster on this machine. Native: as they are stored. The others: all
/// of them in that type, where their rows are whole blocks of it.
enum class DraftWeightFormat : std::uint8_t { Auto, Native, BF16, Q8_0, Q4_0, Q4_1 };

/// What keys and values are kept in. Auto: BF16, with F32 weights F32. Q8_0 takes little more than half of
/// BF16's memory; heads must be multiples of 32.
enum class KvFormat : std::uint8_t { Auto, BF16, Q8_0, F32 };

/// In which order products with bf16 weights are summed (docs/law.md). Chain: as every processor can. Blocks:
/// as AMX's tile unit does, which is faster there; it takes AMX. Auto: the fastest here. All else has one
/// order.
enum class ArithmeticLaw : std::uint8_t { Auto, Chain, Blocks };

/// How a drafted tree is checked. Walk: the text is byte-identical to plain decoding. Rejection: the classic
/// rejection sampling; the same distribution, but not the same bytes (greedy: the same bytes).
enum class Verification : std::uint8_t { Walk, Rejection };

/// Why a generation ended. Stop: an end-of-sequence token or a stop string. Length: as many tokens as were
/// asked for, or as the context holds. Error: it was refused, or failed on its way. None: it has not ended.
enum class FinishReason : std::uint8_t { None, Stop, Length, Cancelled, Error };

/// How a Grammar is written. Json: any JSON object, and there is nothing to write. JsonSchema: a JSON schema,
/// draft 2020-12. Regex: a regular expression that the whole text matches. Gbnf: llama.cpp's notation. Ebnf:
/// xgrammar's. StructuralTag: xgrammar's structural tag, texts and tokens around parts that have a grammar
/// each.
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

/// The word, terminated by a zero byte beyond its end. Valid for ever.
template <Worded Enum>
constexpr std::string_view to_string(Enum value) {
  return words(value)[static_cast<std::size_t>(value)];
}

}  // namespace augur
