#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "grammar/compiler.h"
#include "support/counted_allocations.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::AllocationCount;
using testing_support::error_of;

/// Bytes, and all texts of two and three of these: as many as models have.
class LetterTokenizer final : public Tokenizer {
 public:
  LetterTokenizer() {
    for (int c = 0; c < 256; ++c) tokens_.emplace_back(1, static_cast<char>(c));
    const std::string letters = "abcdefghijklmnopqrstuvwxyz\"\\ ,:{}[]";
    for (const char a : letters) {
      for (const char b : letters) {
        tokens_.push_back({a, b});
        for (const char c : letters) tokens_.push_back({a, b, c});
      }
    }
    tokens_.emplace_back("<end>");
    eos = {static_cast<TokenId>(tokens_.size() - 1)};
  }
  std::vector<TokenId> encode(std::string_view, std::span<const ByteRange>) const override { return {}; }
  std::string token_bytes(TokenId id) const override { return tokens_[static_cast<std::size_t>(id)]; }
  bool is_special(TokenId id) const override { return id == eos[0]; }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(tokens_.size()); }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }

 private:
  std::vector<std::string> tokens_;
};

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// So many optional properties.
Grammar properties(int count, const std::string& type, const std::string& more = {}) {
  std::string text = R"({"type":"object",)" + more + R"("properties":{)";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + "\":" + type;
  return {GrammarKind::JsonSchema, text + "}}", {}};
}

std::string rules(const std::string& left, const std::string& right) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "r" + std::to_string(i + 1);
    text += "r" + std::to_string(i) + " ::= " + next + left + next + right + "\n";
  }
  return text + "r40 ::= \"a\"";
}

/// Rules that begin with one another.
std::string rules_in_circles() {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 200; ++i) {
    text += "r" + std::to_string(i) + " ::= \"q\"";
    for (int j = 0; j < 20; ++j) text += " | r" + std::to_string((i * 7 + j * 13) % 200) + " [a-z]";
    text += "\n";
  }
  return text;
}

/// Small texts that might mean much work or memory, in each phase of a compilation.
std::vector<Grammar> hostile() {
  return {
      {GrammarKind::Regex, "((a{100}){100}){100}", {}},
      {GrammarKind::Regex, repeated("a{9000}", 5000), {}},
      {GrammarKind::Regex, "(a|b)*a(a|b){40}c", {}},
      {GrammarKind::Regex, repeated("[^a]{1,99}", 900), {}},
      {GrammarKind::Regex, "(" + repeated("(a|b)*a(a|b){20}|", 100) + "c)", {}},
      {GrammarKind::Regex, repeated("(a?", 900) + repeated("){2}", 900), {}},
      {GrammarKind::Regex, repeated("a?", 9000) + repeated("a", 9000), {}},
      {GrammarKind::Regex, repeated("[\u0100-\U0010ffff]", 4000), {}},
      {GrammarKind::Regex, "(.{9}){9999}", {}},
      {GrammarKind::Ebnf, "root ::= (((\"a\"{9999}){9999}){9999}){9999}", {}},
      {GrammarKind::Ebnf, "root ::= " + repeated("([a-z]{1,9999} \"x\") ", 2000), {}},
      {GrammarKind::Ebnf, "root ::= " + repeated("(\"a\" | ", 900) + "\"b\"" + repeated(")*", 900), {}},
      {GrammarKind::Ebnf, rules(" ", ""), {}},
      {GrammarKind::Ebnf, rules(" \"x\" | ", " \"y\""), {}},
      {GrammarKind::Ebnf, "root ::= root root root root | root root root | root root | [a-z]", {}},
      {GrammarKind::Ebnf, rules_in_circles(), {}},
      {GrammarKind::Gbnf, "root ::= [a-z]{9999}{9999}{9999}", {}},
      properties(1000, R"({"type":"array","items":{"type":"string"}})"),
      properties(1000, R"({"anyOf":[{"type":"string"},{"type":"null"}]})"),
      properties(1000, R"({"type":"integer"})", R"("minProperties":500,"maxProperties":700,)"),
      properties(900, R"({"type":"integer"})", R"("additionalProperties":true,)"),
      {GrammarKind::JsonSchema, R"({"type":"string","pattern":"^(a|b)*a(a|b){40}c$"})", {}},
      {GrammarKind::StructuralTag,
       R"({"type":"structural_tag","format":{"type":"sequence","elements":[)" +
           repeated(R"({"type":"regex","pattern":"(a{99}){99}"},)", 900) + R"({"type":"any_text"}]}})",
       {}},
  };
}

/// What a schema of 64 KiB takes before the library has it: its reading is bounded by its length alone.
constexpr std::int64_t kBytesToReadASchema = 16 << 20;
bool is_schema(const Grammar& grammar) {
  return grammar.kind == GrammarKind::JsonSchema;
}

class GrammarBudgetTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  }

  static const LetterTokenizer& tokenizer() {
    static const LetterTokenizer tokenizer;
    return tokenizer;
  }

  /// Bytes that one compilation takes from the heap, again and again.
  static std::int64_t allocated(const Grammar& grammar) {
    GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size(), {.seconds = 1e9, .bytes = 1 << 30});
    compiler.compile({GrammarKind::Regex, "a", {}});  // reads the vocabulary
    const AllocationCount count;
    compiler.compile(grammar);
    return count.total_bytes();
  }
};

TEST_F(GrammarBudgetTest, RepetitionsAreBoundedInEveryNotation) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size());
  for (const std::string count : {"10001", "4294967297", "99999999999", "99999999999999999999999"}) {
    for (const std::string& range : {"{" + count + "}", "{" + count + ",}", "{0," + count + "}"}) {
      const Grammar all[] = {
          {GrammarKind::Regex, "a" + range, {}},
          {GrammarKind::Regex, "(a|\\bb)" + range, {}},
          {GrammarKind::Ebnf, "root ::= \"a\"" + range, {}},
          {GrammarKind::Gbnf, "root ::= \"a\"" + range, {}},
          {GrammarKind::JsonSchema, R"({"type":"string","pattern":"^a)" + range + R"($"})", {}},
          {GrammarKind::StructuralTag,
           R"({"type":"structural_tag","format":{"type":"regex","pattern":"a)" + range + "\"}}",
           {}},
          {GrammarKind::StructuralTag,
           R"({"type":"structural_tag","format":{"type":"grammar","grammar":"root ::= [a]{0,)" + count +
               "}\"}}",
           {}},
      };
      for (const Grammar& grammar : all) {
        EXPECT_NE(error_of([&] { compiler.compile(grammar); }), "no error") << grammar.text;
      }
      EXPECT_THAT(error_of([&] { compiler.compile(all[0]); }), HasSubstr("10000"));
      EXPECT_THAT(error_of([&] { compiler.compile(all[3]); }), HasSubstr("line 1, column 1"));
    }
  }
  EXPECT_EQ(error_of([&] { compiler.compile({GrammarKind::Regex, "a{0,10000}", {}}); }), "no error");
}

TEST_F(GrammarBudgetTest, WhatTakesTooLongIsRefused) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size(), {.seconds = 2, .bytes = 1 << 30});
  double seconds = 7;
  const Grammar endless{GrammarKind::Ebnf, rules_in_circles(), {}};
  EXPECT_THAT(error_of([&] { compiler.compile(endless, {.seconds = [&] { return seconds += 0.01; }}); }),
              HasSubstr("2 s of one core"));
  EXPECT_NEAR(seconds, 9.0, 0.05);
}

/// A text that is forced for longer than memory reaches is told in part: nobody drafts more at once.
TEST_F(GrammarBudgetTest, WhatIsForcedHasAnEnd) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size());
  const auto forced = [&](const std::string& regex) {
    return compiler.compile({GrammarKind::Regex, regex, {}})->begin()->forced();
  };
  EXPECT_EQ(forced("ba{100}c?"), "b" + repeated("a", 100));
  EXPECT_EQ(forced("((a{9999}){9999}){9999}"), repeated("a", 4096));
}

TEST_F(GrammarBudgetTest, MemoryIsBoundedInFact) {
  constexpr std::int64_t kBytes = 16 << 20;
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size(), {.seconds = 1e9, .bytes = kBytes});
  compiler.compile({GrammarKind::Regex, "a", {}});  // reads the vocabulary
  int refused = 0;
  for (const Grammar& grammar : hostile()) {
    // Some would take hours before they took memory.
    int looks = 0;
    const AllocationCount count;
    std::string problem;
    try {
      compiler.compile(grammar, {.stopped = [&] { return ++looks > 5000; }});
    } catch (const std::exception& error) {
      problem = error.what();
    }
    EXPECT_LE(count.peak_bytes(), kBytes + (is_schema(grammar) ? kBytesToReadASchema : 0))
        << grammar.text.substr(0, 60) << ": " << problem;
    refused += problem.find("16 MiB of memory") != problem.npos ? 1 : 0;
  }
  EXPECT_GE(refused, 3);
}

TEST_F(GrammarBudgetTest, StopsWithinAShortPieceOfWorkInEveryPhase) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size(), {.seconds = 1e9});
  compiler.compile({GrammarKind::Regex, "a", {}});
  for (const Grammar& grammar : hostile()) {
    for (int last = 1; last < 2000; last *= 3) {
      int looks = 0;
      std::int64_t longest = 0;
      const AllocationCount count;
      std::int64_t before = 0;
      bool stopped = false;
      const auto look = [&] {
        longest = std::max(longest, count.calls() - before);
        before = count.calls();
        return ++looks == last;
      };
      try {
        compiler.compile(grammar, {.stopped = look});
      } catch (const GrammarStopped&) {
        stopped = true;
      } catch (const Error&) {
      }
      // Where it has ended before, it is no matter how.
      EXPECT_EQ(stopped, looks == last) << grammar.text.substr(0, 60);
      EXPECT_LE(std::max(longest, count.calls() - before), is_schema(grammar) ? 1'000'000 : 100'000)
          << grammar.text.substr(0, 60);
      if (!stopped) break;
    }
  }
}

/// What was stopped is compiled when it is asked for again, and nobody waits for another's grammar.
TEST_F(GrammarBudgetTest, SeveralCompileAtOnce) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size(), {.seconds = 1e9});
  std::promise<void> begun;
  std::promise<void> end;
  int looks = 0;
  std::thread other([&] {
    const auto wait = [&] {
      if (++looks == 1) begun.set_value();
      end.get_future().wait();
      return true;
    };
    EXPECT_THROW(compiler.compile({GrammarKind::Regex, "[^a]{1,99}b", {}}, {.stopped = wait}),
                 GrammarStopped);
  });
  begun.get_future().wait();
  EXPECT_NE(compiler.compile({GrammarKind::Regex, "[^b]{1,99}b", {}}), nullptr);
  end.set_value();
  other.join();
  EXPECT_NE(compiler.compile({GrammarKind::Regex, "[^a]{1,99}b", {}}), nullptr);
}

TEST_F(GrammarBudgetTest, OptionalPropertiesTakeMemoryInProportion) {
  for (const char* type : {R"({"type":"string"})", R"({"type":"array","items":{"type":"string"}})"}) {
    const std::int64_t some = allocated(properties(250, type));
    EXPECT_LE(allocated(properties(1000, type)), 12 * some) << type;
  }
}

/// Where a text may be read in many ways, a mask does not take work for each of them.
TEST_F(GrammarBudgetTest, MasksOfAmbiguousTextsTakeTheirReadingsTogether) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size());
  const auto text =
      compiler.compile({GrammarKind::Ebnf, "root ::= e\ne ::= e e | \"a\" e | [a-z]*", {}})->begin();
  std::vector<std::uint32_t> mask(mask_words(tokenizer().vocab_size()));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(text->accept('a'));
  const std::int64_t before = text->work();
  text->fill(mask);
  EXPECT_GT(text->work() - before, 0);
  EXPECT_LE(text->work() - before, 8'000'000);
  for (TokenId t = 0; t < tokenizer().vocab_size(); ++t) {
    const std::string bytes = tokenizer().token_bytes(t);
    const bool letters = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    ASSERT_EQ(allows(mask, t), letters || tokenizer().is_special(t)) << bytes;
  }
}

/// Compiling takes nothing for states that no text reaches: masks are made when they are asked for.
TEST_F(GrammarBudgetTest, MasksAreMadeWhenTheyAreAskedFor) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size());
  compiler.compile({GrammarKind::Regex, "a", {}});  // reads the vocabulary
  int looks = 0;
  const auto grammar = compiler.compile(properties(200, R"({"type":"object","properties":{"a":{}}})"),
                                        {.stopped = [&] { return ++looks < 0; }});
  EXPECT_LE(looks, 150);
  const auto text = grammar->begin();
  std::vector<std::uint32_t> mask(mask_words(tokenizer().vocab_size()));
  for (const char c : std::string_view("{\"")) ASSERT_TRUE(text->accept(static_cast<unsigned char>(c)));
  std::int64_t work[2];
  for (std::int64_t& took : work) {
    const std::int64_t before = text->work();
    text->fill(mask);
    took = text->work() - before;
  }
  EXPECT_LT(work[1], work[0]) << "a state's mask is made once";
}

/// A mask that was stopped is made when it is asked for again, and is what it would have been.
TEST_F(GrammarBudgetTest, AMaskThatIsStoppedChangesNothing) {
  const Grammar ambiguous{GrammarKind::Ebnf, "root ::= e\ne ::= e e | \"a\" e | [a-z]*", {}};
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size());
  const auto text = compiler.compile(ambiguous)->begin();
  const auto whole = compiler.compile(ambiguous)->begin();
  const std::size_t words = mask_words(tokenizer().vocab_size());
  std::vector<std::uint32_t> mask(words), expected(words);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(text->accept('a'));
    ASSERT_TRUE(whole->accept('a'));
    whole->fill(expected);
    for (const std::int64_t steps : {0, 1, 100, 1000, 5000}) {
      const std::int64_t before = text->work();
      EXPECT_FALSE(text->try_fill(mask, steps));
      EXPECT_LE(text->work() - before, steps + 1000);
    }
    EXPECT_ANY_THROW(text->fill_unless(mask, [] { return true; }));
    ASSERT_TRUE(text->try_fill(mask, std::int64_t{1} << 40));
    ASSERT_EQ(mask, expected) << i;
  }
}

TEST_F(GrammarBudgetTest, AMaskHasTheGrammarsBudget) {
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size(), {.seconds = 10, .bytes = 1 << 20});
  const auto text = compiler.compile({GrammarKind::Ebnf, "root ::= e\ne ::= e e | [a-z]*", {}})->begin();
  std::vector<std::uint32_t> mask(mask_words(tokenizer().vocab_size()));
  std::string problem = "no error";
  for (int i = 0; i < 400 && problem == "no error"; ++i) {
    ASSERT_TRUE(text->accept('a'));
    if (i % 20 == 0) problem = error_of([&] { text->fill(mask); });
  }
  EXPECT_THAT(problem, HasSubstr("1 MiB of memory"));
}

/// What a schema is lowered to counts, too.
TEST_F(GrammarBudgetTest, LoweringASchemaHasTheMemoryBudget) {
  constexpr std::int64_t kBytes = 8 << 20;
  GrammarCompiler compiler(tokenizer(), tokenizer().vocab_size(), {.seconds = 1e9, .bytes = kBytes});
  compiler.compile({GrammarKind::Regex, "a", {}});  // reads the vocabulary
  std::string patterns = R"({"type":"object","properties":{)";
  for (int i = 0; i < 200; ++i) {
    patterns += fmt::format(R"({}"p{}":{{"type":"string","pattern":"^(a|b)*a(a|b){{9}}c{}$"}})",
                            i > 0 ? "," : "", i, i);
  }
  std::string alternatives = R"({"allOf":[)";
  for (int i = 0; i < 9; ++i) {
    alternatives += fmt::format(R"({0}{{"anyOf":[{{"required":["a{1}"]}},{{"required":["b{1}"]}}]}})",
                                i > 0 ? "," : "", i);
  }
  alternatives += R"(],"properties":{)";
  for (int i = 0; i < 800; ++i)
    alternatives += fmt::format(R"({}"p{}":{{"type":"string"}})", i > 0 ? "," : "", i);
  for (const std::string& schema : {patterns + "}}", alternatives + "}}"}) {
    const AllocationCount count;
    EXPECT_THAT(error_of([&] {
                  compiler.compile({GrammarKind::JsonSchema, schema, {}});
                }),
                HasSubstr("8 MiB of memory"));
    EXPECT_LE(count.peak_bytes(), 2 * kBytes);
  }
}

TEST_F(GrammarBudgetTest, ABudgetOfNothingIsAnError) {
  for (const GrammarBudget budget : {GrammarBudget{.seconds = 0}, GrammarBudget{.bytes = 0}}) {
    EXPECT_THAT(error_of([&] { GrammarCompiler(tokenizer(), tokenizer().vocab_size(), budget); }),
                HasSubstr("more than 0"));
  }
}

}  // namespace
}  // namespace augur
