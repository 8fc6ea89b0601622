#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const augur::ChatTemplate chat(std::string_view(reinterpret_cast<const char*>(data), size));
    const nlohmann::ordered_json variables = {
        {"messages",
         {{{"role", "system"}, {"content", "s"}},
          {{"role", "user"}, {"content", "h\xC3\xB6 \n"}},
          {{"role", "assistant"},
           {"content", nullptr},
           {"tool_calls", {{{"function", {{"name", "f"}, {"arguments", {{"a", 1.5}}}}}}}}},
          {{"role", "tool"}, {"content", "r"}}}},
        {"tools", {{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {{"x", true}}}}}}}},
        {"bos_token", "<s>"},
        {"eos_token", "</s>"},
        {"add_generation_prompt", true}};
    chat.render(variables, {{"bos_token", "<s>"}});
  } catch (const augur::Error&) {
  }
  return 0;
}
