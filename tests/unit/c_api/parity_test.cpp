// docs/c_interface.md holds what is said there: its tests exist, and no member of the C++ interface is left
// out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

const std::filesystem::path kRoot = AUGUR_SOURCE_DIR;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What the pattern's first group is, wherever it matches.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), expression); i != std::sregex_iterator(); ++i)
    found.push_back((*i)[1]);
  return found;
}

TEST(CParity, ThePagesTestsAreThoseThatThereAre) {
  std::vector<std::string> tests;
  for (const char* part : {"request", "engine", "session", "model", "own_code"}) {
    const std::string source =
        content(kRoot / "tests/unit/c_api" / ("features_" + std::string(part) + "_test.cpp"));
    for (const std::string& name : matches(source, R"(TEST\(CFeatures, (\w+)\))")) tests.push_back(name);
  }
  EXPECT_GE(tests.size(), 30u);
  EXPECT_THAT(matches(content(kRoot / "docs/c_interface.md"), R"((?:\| [^|\n]+ ){3}\| `(\w+)` \|\n)"),
              testing::UnorderedElementsAreArray(tests));
}

/// Names of data members and member functions, as the headers of this project write them; private ones and
/// operators left out.
std::vector<std::string> members(const std::string& header) {
  const std::string code = std::regex_replace(header, std::regex("//[^\n]*"), "");
  std::vector<std::string> names;
  for (const std::string& line : matches(code, "\n( +[^\n]*);")) {
    static const std::regex other(
        R"( *(return|using|friend|static|explicit|struct|class)\b.*|.*\boperator\b.*)");
    static const std::regex member(
        R"( +(?:std::function<.*>|[\w:<>,*& ]+)[ *&](\w*[a-z0-9])(\([^;]*\)( const)?)?( = .*)?)");
    std::smatch found;
    if (!std::regex_match(line, other) && std::regex_match(line, found, member)) names.push_back(found[1]);
  }
  return names;
}

TEST(CParity, EveryPublicMemberIsInCOrOnThisPage) {
  std::string said = content(kRoot / "docs/c_interface.md");
  for (const auto& header : std::filesystem::directory_iterator(kRoot / "include/augur/c"))
    said += content(header.path());
  std::set<std::string> words;
  for (const std::string& word : matches(said, R"((\w+))")) {
    // augur_engine_forget() is Engine::forget(), bias_tokens say what logit_bias does.
    for (std::size_t at = 0; at != std::string::npos; at = word.find('_', at + 1))
      words.insert(at == 0 ? word : word.substr(at + 1));
  }
  for (const char* name :
       {"custom_drafter", "custom_policy", "draft_round", "drafter_traits", "engine", "infill_tokens",
        "logprobs", "memory_estimate", "message", "model_description", "options", "sampling_options",
        "session", "statistics", "template_limits", "text_outputs"}) {
    const std::vector<std::string> found =
        members(content(kRoot / "include/augur" / (std::string(name) + ".h")));
    EXPECT_GE(found.size(), 2u) << name;
    for (const std::string& member : found)
      EXPECT_TRUE(words.contains(member))
          << name << ".h: " << member << ": is neither in include/augur/c nor in docs/c_interface.md";
  }
}

}  // namespace
