#include "text/tokenizer/gguf_pre_table.h"

#include "text/tokenizer/digit_groups.h"
#include "text/tokenizer/pretokenizer.h"

namespace augur {
namespace {

using Text = std::string_view;
using Letters = GgufPreTokenizerRow::Letters;

/// Parts, one behind the other with `between` in between, as one constant.
template <const Text& between, const Text& first, const Text&... rest>
struct Joined {
  static constexpr std::size_t kSize = first.size() + (0 + ... + (between.size() + rest.size()));
  static constexpr std::array<char, kSize> kBytes = [] {
    std::array<char, kSize> bytes{};
    std::size_t at = 0;
    const auto append = [&](Text text) {
      for (const char c : text) bytes[at++] = c;
    };
    append(first);
    ((append(between), append(rest)), ...);
    return bytes;
  }();
  static constexpr Text kText{kBytes.data(), kSize};
};
constexpr Text kBar = "|";
constexpr Text kNothing;
template <const Text&... parts>
constexpr Text any_of = Joined<kBar, parts...>::kText;
template <const Text&... parts>
constexpr Text in_a_row = Joined<kNothing, parts...>::kText;

// What published expressions are made of.
constexpr Text kContraction = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
constexpr Text kContractionOrNone = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)";
constexpr Text kWord = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
constexpr Text kDigit = R"(\p{N})";
constexpr Text kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr Text kDigits = R"(\p{N}+)";
constexpr Text kThreeAsciiDigits = "[0-9][0-9][0-9]";
constexpr Text kSymbols = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)";
constexpr Text kSymbolsAndSlashes = R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)";
constexpr Text kLines = R"(\s*[\r\n]+)";
constexpr Text kOneLine = R"(\s*[\r\n])";
constexpr Text kSpacesButOne = R"(\s+(?!\S))";
constexpr Text kSpaces = R"(\s+)";
constexpr Text kBlank = any_of<kLines, kSpacesButOne, kSpaces>;

// Words that change from capitals to small letters once at most.
constexpr Text kSmallWord = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)";
constexpr Text kCapitalWord =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)";
constexpr Text kSmallWordContracted = in_a_row<kSmallWord, kContractionOrNone>;
constexpr Text kCapitalWordContracted = in_a_row<kCapitalWord, kContractionOrNone>;

constexpr Text kLlama3[] = {any_of<kContraction, kWord, kUpToThreeDigits, kSymbols, kBlank>};
constexpr Text kQwen2[] = {any_of<kContraction, kWord, kDigit, kSymbols, kBlank>};
constexpr Text kTekken[] = {any_of<kSmallWord, kCapitalWord, kDigit, kSymbolsAndSlashes, kBlank>};
constexpr Text kGpt4o[] = {
    any_of<kSmallWordContracted, kCapitalWordContracted, kUpToThreeDigits, kSymbolsAndSlashes, kBlank>};
constexpr Text kGpt2[] = {kGpt2Pattern};
constexpr Text kStarcoder[] = {kDigit, kGpt2Pattern};

constexpr Text kMarkedWord = R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)";
constexpr Text kUnmarkedSymbols = R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)";
constexpr Text kQwen35[] = {any_of<kContraction, kMarkedWord, kDigit, kUnmarkedSymbols, kBlank>};

constexpr Text kUfakzeka[] = {any_of<kWord, kDigit, kSymbols, kBlank>};
constexpr Text kLineOrLines = R"([^\n]+|[\n]+)";
constexpr Text kLaguna[] = {kLineOrLines, kQwen2[0]};
constexpr Text kMinicpm5[] = {kUpToThreeDigits, any_of<kContraction, kWord, kDigits, kSymbols, kBlank>};
constexpr Text kCohere[] = {kDigitsFromTheRight, kGpt4o[0]};

// Spaces in powers of two, the largest first.
constexpr Text kHalvedSpaces =
    R"(\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr Text kJais2[] = {any_of<kContraction, kWord, kUpToThreeDigits, kSymbols, kLines, kHalvedSpaces>};

constexpr Text kSymbolsWithoutLines = R"( ?[^\s\p{L}\p{N}\r\n]+)";
constexpr Text kSeedCoder[] = {any_of<kContraction, kWord, kDigit, kSymbolsWithoutLines, kBlank>};
constexpr Text kBailingContraction = R"('(?i:[sdmt]|ll|ve|re))";
constexpr Text kBailing[] = {
    any_of<kBailingContraction, kWord, kDigit, kSymbols, kOneLine, kSpacesButOne, kSpaces>};
// Words with one space between them are one piece. Nothing behind them could make a match give letters back.
constexpr Text kWords = R"([^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++)";
constexpr Text kSymbolsAndOneLine = R"( ?[^\s\p{L}\p{N}]+[\r\n/]?)";
constexpr Text kExaoneMoe[] = {
    any_of<kContraction, kWords, kDigit, kSymbolsAndOneLine, kOneLine, kSpacesButOne, kSpaces>};

constexpr Text kCjk = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr Text kSymbolAndAsciiWord = R"x([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)x";
constexpr Text kWordAfterAny = R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)";
constexpr Text kPunctuation = R"( ?[\p{P}\p{S}]+)";
constexpr Text kPunctuationAndLines = R"( ?[\p{P}\p{S}]+[\r\n]*)";
constexpr Text kLineEnd = R"([\r\n])";
constexpr Text kDeepseekMain = any_of<kSymbolAndAsciiWord, kWordAfterAny, kPunctuationAndLines, kBlank>;
constexpr Text kDeepseekV3[] = {kUpToThreeDigits, kCjk, kDeepseekMain};
constexpr Text kSpark[] = {
    kUpToThreeDigits, kCjk,
    any_of<kSymbolAndAsciiWord, kWordAfterAny, kPunctuation, kLineEnd, kSpacesButOne, kSpaces>, kDigit};
constexpr Text kAsianLetters =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})"
    R"(\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
    R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";
constexpr Text kAfmoe[] = {kNumbersFromTheRight, kAsianLetters, kDeepseekMain};

constexpr Text kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B})"
    R"(\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+)";
constexpr Text kYoutu[] = {
    any_of<kYoutuScripts, kCjk>,
    any_of<kSmallWordContracted, kCapitalWordContracted, kDigit, kSymbolsAndSlashes, kBlank>};

constexpr Text kHan = R"([\p{Han}]+)";
constexpr Text kNotHanSmallWord =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)";
constexpr Text kNotHanCapitalWord =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)";
constexpr Text kNotHanSmallWordContracted = in_a_row<kNotHanSmallWord, kContractionOrNone>;
constexpr Text kNotHanCapitalWordContracted = in_a_row<kNotHanCapitalWord, kContractionOrNone>;
constexpr Text kKimi[] = {any_of<kHan, kNotHanSmallWordContracted, kNotHanCapitalWordContracted,
                                 kUpToThreeDigits, kSymbols, kBlank>};

// The letters of alphabets with capitals, as far as DeepSeek's list goes.
constexpr Text kCasedWord =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A})"
    R"(\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})"
    R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
    R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC})"
    R"(\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183})"
    R"(\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})"
    R"(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr Text kDeepseekSymbols =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr Text kTrailingSpaces = R"(\s+$)";
constexpr Text kDeepseekCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr Text kDeepseekLlm[] = {kLineEnd,        kCasedWord,   kDeepseekSymbols,
                                 kTrailingSpaces, kDeepseekCjk, kDigits};
constexpr Text kLetters = R"(\s?\p{L}+)";
constexpr Text kPunctuationMarks = R"(\s?\p{P}+)";
constexpr Text kDeepseekCoder[] = {kLineEnd, kLetters, kPunctuationMarks, kDeepseekCjk, kDigit};

constexpr Text kFalconSymbols = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr Text kFalcon[] = {kFalconSymbols, kGpt2Pattern, kThreeAsciiDigits};
// Files from before the name existed, and those whose converter did not recognise the tokenizer.
constexpr Text kDefaultSymbols = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr Text kDefault[] = {kDefaultSymbols, kGpt2Pattern, kDigits, kThreeAsciiDigits};

constexpr Text kSuperbpe[] = {kDigits, kBeforeThreeDigits};
constexpr Text kBloomWord = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
constexpr Text kBloom[] = {kBloomWord};
constexpr Text kViking[] = {kBloomWord, kDigit};
constexpr Text kSentinel = "<sentinel:[0-9]+>";
constexpr Text kImage = "(IMGIMG)([A-I]{1,4})Z";
constexpr Text kIndentation = R"(([\t\n]|    |  ))";
constexpr Text kPunctuationMark = R"([\p{P}!-/:-@\[-`{-~])";
constexpr Text kChameleon[] = {kSentinel, kImage, kIndentation, kDigit, kPunctuationMark, kGpt2Pattern};

constexpr Text kSentencePieceLines[] = {kLineOrLines};
constexpr Text kNotSpaces = R"(\S+)";
constexpr Text kWhitespace[] = {kNotSpaces};

// Jina's and RoBERTa's three (jina-v1-en, jina-v2-code, roberta-bpe) end a text with a separator, which is
// not encoding's business. The published tokenizers of Qwen normalise: with it a GGUF file and the model's
// folder give the same ids.
constexpr GgufPreTokenizerRow kRows[] = {
    {.names =
         "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert exaone4 mpt "
         "olmo jais trillion granite-docling jina-v1-en jina-v2-code roberta-bpe",
     .steps = kGpt2},
    {.names = "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", .steps = kStarcoder},
    {.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     .steps = kLlama3,
     .ignore_merges = true,
     .add_bos = true},
    {.names = "dbrx smaug-bpe chatglm-bpe", .steps = kLlama3},
    {.names = "glm4 glm5", .steps = kLlama3, .ignore_merges = true},
    {.names = "gpt-4o llama4 kanana2 talkie minimax-m2", .steps = kGpt4o},
    {.names = "granite-embed-multi-97m", .steps = kGpt4o, .ignore_merges = true},
    {.names = "qwen2", .steps = kQwen2, .nfc = true},
    {.names = "deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", .steps = kQwen2},
    {.names = "qwen35", .steps = kQwen35, .nfc = true},
    {.names = "tekken", .steps = kTekken, .ignore_merges = true, .add_bos = true},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4", .steps = kDeepseekV3},
    {.names = "deepseek-llm", .steps = kDeepseekLlm},
    {.names = "deepseek-coder", .steps = kDeepseekCoder},
    {.names = "kimi-k2", .steps = kKimi},
    {.names = "seed-coder", .steps = kSeedCoder},
    {.names = "bailingmoe bailingmoe2 llada-moe", .steps = kBailing},
    {.names = "exaone-moe", .steps = kExaoneMoe},
    {.names = "minicpm5", .steps = kMinicpm5, .ignore_merges = true},
    {.names = "tiny_aya cohere2moe", .steps = kCohere},
    {.names = "youtu", .steps = kYoutu, .ignore_merges = true},
    {.names = "spark2_5", .steps = kSpark},
    {.names = "afmoe", .steps = kAfmoe},
    {.names = "laguna", .steps = kLaguna},
    {.names = "ufakzeka", .steps = kUfakzeka},
    {.names = "jais-2", .steps = kJais2},
    {.names = "superbpe", .steps = kSuperbpe},
    {.names = "poro-chat bloom gpt3-finnish", .steps = kBloom},
    {.names = "viking", .steps = kViking},
    {.names = "chameleon", .steps = kChameleon, .add_bos = true},
    {.names = "falcon", .steps = kFalcon},
    {.names = "default", .steps = kDefault},
    {.names = "gemma4", .steps = kSentencePieceLines, .add_bos = true, .letters = Letters::Escaped},
    {.names = "granite-embed-multi-311m sarvam-moe",
     .steps = kSentencePieceLines,
     .letters = Letters::Escaped},
    {.names = "whitespace", .steps = kWhitespace, .letters = Letters::AsTheyAre},
};

}  // namespace

std::span<const GgufPreTokenizerRow> gguf_pre_tokenizers() {
  return kRows;
}

}  // namespace augur
