#include <filesystem>
#include <fstream>

#include "server/hostile/hostile_test.h"

namespace augur::hostile {
namespace {

TEST_F(HostileTest, Slots) {
  const std::filesystem::path outside = folder_.path() / "outside";
  std::ofstream(outside) << "precious";
  std::filesystem::create_symlink(outside, folder_.path() / "link");
  std::filesystem::create_symlink(folder_.path() / "nowhere", folder_.path() / "dangling");
  std::filesystem::create_directory(folder_.path() / "folder");
  std::ofstream(folder_.path() / "garbage.bin") << "no text";
  ASSERT_EQ(status_of(post("/completion", R"({"prompt": "Once upon a time", "n_predict": 4})")), 200);
  const auto named = [](const char* action, const std::string& name) {
    return post(std::string("/slots/0?action=") + action, R"({"filename": ")" + name + "\"}");
  };
  const std::vector<Case> cases = {
      {"an ordinary one", named("save", "one.bin"), {200}},
      {"out of the folder", named("save", "../one.bin"), {400}},
      {"an absolute name", named("save", "/tmp/one.bin"), {400}},
      {"hidden", named("save", ".one"), {400}},
      {"no name", named("save", ""), {400}},
      {"a long name", named("save", std::string(300, 'x')), {400}},
      {"a zero byte", named("save", "a\\u0000b"), {400}},
      {"through a link", named("save", "link"), {400}},
      {"through a link that leads nowhere", named("save", "dangling"), {400}},
      {"a folder", named("save", "folder"), {400}},
      {"restored through a link", named("restore", "link"), {400}},
      {"restored from garbage", named("restore", "garbage.bin"), {400}},
      {"restored from nothing", named("restore", "none.bin"), {400}},
      {"a number for a name", post("/slots/0?action=save", R"({"filename": 1})"), {400}},
      {"no action", post("/slots/0", "{}"), {400}},
      {"another action", post("/slots/0?action=explode", "{}"), {400}},
      {"no such slot", post("/slots/99?action=erase", "{}"), {400, 404}},
      {"a negative slot", post("/slots/-1?action=erase", "{}"), {400, 404}},
      {"a slot beyond 2^64", post("/slots/99999999999999999999?action=erase", "{}"), {400, 404}},
      {"no number", post("/slots/a%2f..?action=erase", "{}"), {400, 404}},
  };
  for (const Case& hostile : cases) check(hostile);
  EXPECT_EQ(std::filesystem::file_size(outside), 8U);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "nowhere"));
  const auto mode = std::filesystem::status(folder_.path() / "one.bin").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace
}  // namespace augur::hostile
