#include "lab/suite/keys.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "lab/suite/content_hash.h"
#include "lab/suite/document.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

class Keys : public testing::Test {
 protected:
  Keys() {
    write("draft/config.json", "{}");
    write("draft/model.safetensors", std::string(1000, 'a'));
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  /// Files keep their dates whatever is written: what counts is what they hold.
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    fs::last_write_time(path(name), fs::file_time_type(std::chrono::seconds(1)));
  }
  std::string key(const std::string& settings) const {
    return method_key(parse_method("draft:model=" + path("draft").string() + settings, {}), "");
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(Keys, FollowWhatAMethodsFilesHold) {
  const std::string before = key(",n-max=4");
  EXPECT_EQ(key(",n-max=4"), before);
  EXPECT_NE(key(",n-max=5"), before);
  write("draft/README.md", "A note.");
  EXPECT_EQ(key(",n-max=4"), before) << "notes are no part of it";
  write("draft/model.safetensors", std::string(999, 'a') + "b");
  const std::string other = key(",n-max=4");
  EXPECT_NE(other, before) << "of the same size and date";
  write("draft/model.safetensors", std::string(1000, 'a'));
  EXPECT_EQ(key(",n-max=4"), before) << "what was there is there again";
}

TEST_F(Keys, FollowThePolicysPartWhereverItLies) {
  for (const std::string place : {"draft/c2t", "elsewhere"}) {
    const std::string settings =
        ",policy=c2t" + (place == "elsewhere" ? ":model=" + path(place).string() : std::string());
    write(place + "/config.json", "{}");
    write(place + "/model.safetensors", "one");
    const std::string before = key(settings);
    write(place + "/model.safetensors", "two");
    EXPECT_NE(key(settings), before) << place;
    EXPECT_EQ(key(",policy=eagle2"), key(",policy=eagle2"));
  }
}

TEST_F(Keys, FollowTheVocabularyAndTheTree) {
  write("list/config.json", "{}");
  write("list/tokens", "one");
  write("tree.json", "[[0]]");
  const std::string list = ",n-max=4,vocab=frspec:" + path("list").string() + ":64";
  const std::string tree = ",tree=" + path("tree.json").string();
  const std::string with_list = key(list);
  const std::string with_tree = key(tree);
  write("list/tokens", "two");
  write("tree.json", "[[1]]");
  EXPECT_NE(key(list), with_list);
  EXPECT_NE(key(tree), with_tree);
}

TEST_F(Keys, OfPlainDecodingIsOfNoFile) {
  const std::string before = method_key(parse_method("plain", {}), path("draft").string());
  write("draft/config.json", "{ }");
  EXPECT_EQ(method_key(parse_method("plain", {}), path("draft").string()), before);
}

TEST_F(Keys, OfAPromptAreOfItsText) {
  const SuitePrompt prompt{"a", "x", {"one", "two"}};
  SuitePrompt other = prompt;
  other.turns = {"onet", "wo"};
  EXPECT_NE(prompt_key("suite", prompt), prompt_key("suite", other));
  EXPECT_NE(prompt_key("suite", prompt), prompt_key("other", prompt));
}

TEST_F(Keys, TheStatesHeaderKnowsProgramModelAndDatastore) {
  EngineOptions options;
  options.model = path("draft").string();
  options.datastore = path("store").string();
  write("store", "texts");
  const auto header = [&] { return state_header({}, "m", options, {}); };
  const auto before = header();
  EXPECT_EQ(before["program"], program_identity());
  EXPECT_EQ(header(), before);
  write("draft/model.safetensors", std::string(1000, 'c'));
  EXPECT_NE(header()["files"], before["files"]);
  write("store", "other");
  EXPECT_NE(header()["datastore"], before["datastore"]);
}

TEST(ContentHashes, OfAProgramLeaveItsCommitOut) {
  const testing_support::TemporaryFolder folder;
  const auto hash_of = [&](const std::string& bytes, std::string_view commit) {
    const fs::path file = folder.path() / "program";
    std::ofstream(file, std::ios::binary) << bytes;
    return hash_without(file, commit);
  };
  const std::string_view clean("0123456789ab"), dirty("ba9876543210-dirty");
  const auto program = [](std::string commit, char code) {
    commit.resize(32, '\0');  // as build_info.cpp keeps it
    return "code" + commit + code;
  };
  EXPECT_EQ(hash_of(program(std::string(clean), 'a'), clean),
            hash_of(program(std::string(dirty), 'a'), dirty));
  EXPECT_NE(hash_of(program(std::string(clean), 'a'), clean),
            hash_of(program(std::string(clean), 'b'), clean));
}

TEST(ContentHashes, TellApartWhatDiffersInAnyByte) {
  const testing_support::TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  const auto hash_of = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return ContentHashes().of(file);
  };
  std::string bytes(100, '\0');  // three steps of 32 bytes, and four bytes more
  std::set<std::uint64_t> hashes = {hash_of(bytes), hash_of(bytes + '\0'), hash_of("")};
  for (char& byte : bytes) {
    for (const char value : {'\1', '\x80'}) {
      byte = value;
      hashes.insert(hash_of(bytes));
    }
    byte = '\0';
  }
  EXPECT_EQ(hashes.size(), 3U + 200U);
}

}  // namespace
}  // namespace augur
