#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

std::string named(std::string_view action, std::string_view name) {
  return post("/slots/0?action=" + std::string(action), R"({"filename": ")" + std::string(name) + "\"}");
}

}  // namespace

/// Names that lead elsewhere, and slots that are none. The folder has what HostileTest::fill_folder() puts
/// there.
std::vector<Case> slots() {
  return {
      {"a text in a slot", llamacpp(R"("n_predict": 4, "id_slot": 0)"), {200}},
      {"an ordinary one", named("save", "one.bin"), {200}},
      {"the same again", named("save", "one.bin"), {200}},
      {"out of the folder", named("save", "../one.bin"), {400}, "filename"},
      {"an absolute name", named("save", "/tmp/one.bin"), {400}, "filename"},
      {"hidden", named("save", ".one"), {400}, "filename"},
      {"no name", named("save", ""), {400}, "filename"},
      {"a long name", named("save", std::string(300, 'x')), {400}, "filename"},
      {"a zero byte", named("save", "a\\u0000b"), {400}, "filename"},
      {"through a link", named("save", "link"), {400}, "filename"},
      {"through a link that leads nowhere", named("save", "dangling"), {400}, "filename"},
      {"a folder", named("save", "folder"), {400}, "filename"},
      {"restored through a link", named("restore", "link"), {400}, "filename"},
      {"restored from garbage", named("restore", "garbage.bin"), {400}, "filename"},
      {"restored from nothing", named("restore", "none.bin"), {400}, "filename"},
      {"restored from a file of no bytes", named("restore", "empty.bin"), {400}, "filename"},
      {"restored from a pipe", named("restore", "pipe"), {400}, "filename"},
      {"restored", named("restore", "one.bin"), {200}},
      {"a number for a name", post("/slots/0?action=save", R"({"filename": 1})"), {400}, "filename"},
      {"a body that is a list", post("/slots/0?action=save", "[]"), {400}},
      {"no action", post("/slots/0", "{}"), {400}, "action"},
      {"another action", post("/slots/0?action=explode", "{}"), {400}, "action"},
      {"an action behind another", post("/slots/0?a=b&action=erase", "{}"), {400}, "action"},
      {"no such slot", post("/slots/99?action=erase", "{}"), {400}, "id_slot"},
      {"a negative slot", post("/slots/-1?action=erase", "{}"), {400}, "id_slot"},
      {"a slot beyond 2^64", post("/slots/99999999999999999999?action=erase", "{}"), {400}, "id_slot"},
      {"no number", post("/slots/a%2f..?action=erase", "{}"), {400}, "id_slot"},
      {"a key in the address", post("/slots/0?action=erase&api_key=x", "{}"), {400}},
      {"to read what is there", get("/slots/0"), {405}},
      {"a salt of 600 bytes",
       post("/slots/0?action=save", R"({"filename": "a", "cache_salt": ")" + std::string(600, 's') + "\"}"),
       {400},
       "cache_salt"},
      {"another salt's text",
       post("/slots/0?action=save", R"({"filename": "a", "cache_salt": "mine"})"),
       {404},
       "id_slot"},
      {"erased", post("/slots/0?action=erase", ""), {200}},
      {"erased again", post("/slots/0?action=erase", "{}"), {200}},
  };
}

}  // namespace augur::hostile
