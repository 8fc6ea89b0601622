#include "text/known_templates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/chat_template.h"

namespace augur {
namespace {

std::string written(std::string_view name, bool reply = true) {
  const std::vector<Message> chat = {
      {"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}, {"user", "Bye"}};
  const nlohmann::ordered_json own = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  return ChatTemplate(known_template(name)).render(chat, reply, nullptr, own).text;
}

TEST(KnownTemplates, WriteConversationsAsTheirFamiliesDo) {
  const std::map<std::string, std::string> expected = {
      {"chatml",
       "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
       "<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"},
      {"llama2", "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s><s>[INST] Bye [/INST]"},
      {"llama3",
       "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"mistral-v1", " [INST] Be brief.\n\nHi [/INST] Hello</s> [INST] Bye [/INST]"},
      {"gemma",
       "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello<end_of_turn>\n"
       "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n"},
      {"command-r",
       "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN_TOKEN|>"
       "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Hi<|END_OF_TURN_TOKEN|>"
       "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>Hello<|END_OF_TURN_TOKEN|>"
       "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Bye<|END_OF_TURN_TOKEN|>"
       "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"},
      {"phi3",
       "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nHello<|end|>\n"
       "<|user|>\nBye<|end|>\n<|assistant|>\n"},
      {"vicuna", "Be brief.\n\nUSER: Hi\nASSISTANT: Hello</s>\nUSER: Bye\nASSISTANT:"},
  };
  for (const auto& [name, text] : expected) EXPECT_EQ(written(name), text) << name;
}

TEST(KnownTemplates, EachSaysEverythingAndOnlyThenWhoIsNext) {
  for (const KnownTemplate& known : known_templates()) {
    const std::string turn = written(known.name, false);
    const std::string reply = written(known.name);
    std::size_t at = 0;
    for (const char* said : {"Be brief.", "Hi", "Hello", "Bye"}) {
      at = turn.find(said, at);
      ASSERT_NE(at, std::string::npos) << known.name << ": " << said;
    }
    EXPECT_EQ(reply.substr(0, turn.size()), turn) << known.name;
  }
  EXPECT_TRUE(std::is_sorted(known_templates().begin(), known_templates().end(),
                             [](const KnownTemplate& a, const KnownTemplate& b) { return a.name < b.name; }));
  EXPECT_EQ(known_template("nothing"), "");
}

}  // namespace
}  // namespace augur
