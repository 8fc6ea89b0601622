#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// The stories model with a chat template.
class Chat : public testing::Test {
 protected:
  Chat() {
    std::filesystem::remove_all(model_);
    std::filesystem::copy(stories260k(), model_);
    std::ofstream(model_ / "tokenizer_config.json") << json{
        {"chat_template", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"}};
  }
  ~Chat() override { std::filesystem::remove_all(model_); }

  Outcome talk(const std::string& input, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"chat", "-m", model_.string(), "-t", "2", "-n", "24"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_augur(arguments, {.input = input});
  }
  /// What `generate` says to the conversation that was saved.
  std::string generated(const std::string& prompt) {
    const Outcome outcome =
        run_augur({"generate", "-m", model_.string(), "-t", "2", "-n", "24", "--chat", "-p", prompt});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }

  std::filesystem::path model_ = temporary_file("model");
};

TEST_F(Chat, AnswersALineATurnAsGenerateDoesWithAnySpeculation) {
  const std::string expected = generated("Tell me of a dog") + "\n";
  for (const std::vector<std::string>& speculation :
       {std::vector<std::string>{}, {"--spec-type", "ngram"}, {"-md", stories260k()}}) {
    const Outcome outcome = talk("Tell me of a dog\n", speculation);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, expected);
  }
}

TEST_F(Chat, RemembersWhatWasSaidAndDoesWhatCommandsSay) {
  const std::string file = temporary_file("saved").string();
  const Outcome outcome = talk("/system Be kind\nA dog \\\nand a cat\nGo on\n/stats\n/save " + file +
                               "\n/clear\n/system\nTell me of a dog\n/spec off\n/regen\n/exit\nNot read\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("tokens/s"));
  std::ifstream in(file);
  const json saved = json::parse(in)["messages"];
  ASSERT_EQ(saved.size(), 5U);
  EXPECT_EQ(saved[0], (json{{"role", "system"}, {"content", "Be kind"}}));
  EXPECT_EQ(saved[1], (json{{"role", "user"}, {"content", "A dog \nand a cat"}}));
  EXPECT_EQ(saved[3], (json{{"role", "user"}, {"content", "Go on"}}));
  const std::string dog = generated("Tell me of a dog") + "\n";  // greedy: another one is the same
  EXPECT_EQ(outcome.out, saved[2]["content"].get<std::string>() + "\n" +
                             saved[4]["content"].get<std::string>() + "\n" + dog + dog);
  std::filesystem::remove(file);
}

TEST_F(Chat, TintsOnlyWhereItIsToldOrATerminalListens) {
  EXPECT_THAT(talk("Once upon a time\n", {"-md", stories260k(), "--spec-policy", "chain"}).out,
              Not(HasSubstr("\x1b[")));
  EXPECT_THAT(
      talk("Once upon a time\n", {"-md", stories260k(), "--spec-policy", "chain", "--color", "on"}).out,
      HasSubstr("\x1b["));
}

TEST_F(Chat, SaysWhatCannotBe) {
  const Outcome outcome = talk("/dance\n/spec maybe\n/regen\n/save /no/such/folder/x\n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("there is no /dance"));
  EXPECT_THAT(outcome.err, HasSubstr("expected on or off"));
  EXPECT_THAT(outcome.err, HasSubstr("nothing has been answered"));
  EXPECT_THAT(outcome.err, HasSubstr("/save: /no/such/folder/x: cannot be created"));
  const Outcome bare = run_augur({"chat", "-m", stories260k()});
  EXPECT_EQ(bare.code, 1);
  EXPECT_THAT(bare.err, HasSubstr("no chat template"));
  EXPECT_EQ(talk(std::string(4000, 'x') + "\n").code, 1);  // longer than the context
}

}  // namespace
}  // namespace augur::test
