#include "lab/corpus/answer_cache.h"

#include "corpus_files.h"
#include "lab/corpus/dataset.h"

namespace augur {
namespace {

using namespace testing_support;
using testing::HasSubstr;

using AnswerFiles = CorpusFiles;

const Answer kAnswer{"a.jsonl:1", "a", 0.5, {1, 2}, {3, 4, 5}};

TEST_F(AnswerFiles, GoOnAfterAKill) {
  const std::filesystem::path file = folder.path() / "answers.jsonl";
  {
    AnswerCache cache(file, "settings");
    cache.add(kAnswer);
    cache.flush();
  }
  for (const std::string tail : {"{\"so", "{\"source\":\"a.jsonl:2\",\"resp"}) {  // was being written
    std::ofstream(file, std::ios::app) << tail;
    AnswerCache cache(file, "settings");
    EXPECT_TRUE(cache.has("a.jsonl:1", kAnswer.prompt));
    EXPECT_FALSE(cache.has("a.jsonl:2", {}));
    EXPECT_EQ(cache.response_tokens(), 3);
  }
  AnswerCache(file, "settings").add({"a.jsonl:2", "a", 0, {1}, {2}});
  EXPECT_EQ(AnswerCache(file, "settings").size(), 2);
  Dataset data(*tokenizer, nullptr, {});
  data.add_file(file);
  ASSERT_EQ(data.size(), 1);  // the second is too short to learn from
  EXPECT_EQ(data.left_out(), 1);
  EXPECT_THAT(data[0].tokens, testing::ElementsAre(1, 2, 3, 4, 5));

  const std::string other = error_of([&] { AnswerCache(file, "other settings"); });
  EXPECT_THAT(other, HasSubstr("answers.jsonl.settings"));
  std::ofstream(file, std::ios::app) << "no answer\n";
  EXPECT_THAT(error_of([&] { AnswerCache(file, "settings"); }), HasSubstr("answers.jsonl: line 3: "));
}

TEST_F(AnswerFiles, AreSortedByFileAndLine) {
  const std::vector<std::string> sources = {"a.jsonl:2", "a.jsonl:10", "a:b.jsonl.xz:3", "b.jsonl:1"};
  const std::filesystem::path sorted = folder.path() / "sorted.jsonl", mixed = folder.path() / "mixed.jsonl";
  const auto add = [&](AnswerCache& cache, std::size_t i) {
    cache.add({sources[i], "ü\n", 0.5, {static_cast<TokenId>(i)}, std::vector<TokenId>(3 * i + 1, 7)});
  };
  {
    AnswerCache cache(sorted, "s");
    for (std::size_t i = 0; i < sources.size(); ++i) add(cache, i);
    cache.sort();
  }
  {
    AnswerCache cache(mixed, "s");
    for (const std::size_t i : {3, 1, 2}) add(cache, i);
    cache.sort();
    add(cache, 0);  // behind the others
  }
  std::ofstream(mixed, std::ios::app) << "{\"source\":\"b";  // was being written
  AnswerCache cache(mixed, "s");
  EXPECT_EQ(cache.size(), 4);
  cache.sort();
  EXPECT_EQ(content(mixed), content(sorted));
  const auto when = std::filesystem::last_write_time(mixed);
  std::filesystem::last_write_time(mixed, when - std::chrono::hours(1));
  cache.sort();
  EXPECT_EQ(std::filesystem::last_write_time(mixed), when - std::chrono::hours(1)) << "nothing to do";
}

TEST_F(AnswerFiles, WhatIsNoAnswerStaysAsItIs) {
  const std::string note = "a note without a line break";
  const std::filesystem::path notes = write("notes.txt", note);
  EXPECT_THAT(error_of([&] { AnswerCache(notes, "settings"); }), HasSubstr("notes.txt: is there"));
  EXPECT_FALSE(std::filesystem::exists(notes.string() + ".settings"));
  write("notes.txt.settings", "settings\n");
  EXPECT_THAT(error_of([&] { AnswerCache(notes, "settings"); }), HasSubstr("notes.txt: line 1: expected"));
  EXPECT_EQ(content(notes), note);
  std::filesystem::create_directory(folder.path() / "folder");
  write("folder.settings", "settings\n");
  EXPECT_THAT(error_of([&] { AnswerCache(folder.path() / "folder", "settings"); }), HasSubstr("folder: "));
  AnswerCache(write("empty.jsonl", ""), "settings").add(kAnswer);
}

TEST_F(AnswerFiles, ASourceIsKnownByItsPromptToo) {
  const std::filesystem::path file = folder.path() / "answers.jsonl";
  AnswerCache(file, "settings").add(kAnswer);
  const AnswerCache cache(file, "settings");
  EXPECT_TRUE(cache.has("a.jsonl:1", kAnswer.prompt));
  const std::vector<TokenId> other = {2, 1};
  EXPECT_THAT(error_of([&] { cache.has("a.jsonl:1", other); }),
              HasSubstr("answers.jsonl: a.jsonl:1 was answered there for another prompt"));
}

}  // namespace
}  // namespace augur
