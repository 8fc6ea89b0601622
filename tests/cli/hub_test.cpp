#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "support/fake_hub.h"
#include "support/test_files.h"

namespace augur::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing_support::FakeHub;

/// A hub of the tiny model: a folder, and files of it.
class Hub : public testing::Test {
 protected:
  Hub() : home_(temporary_file("home")), file_(temporary_file("m.gguf")) {
    EXPECT_EQ(run_augur({"quantize", stories260k(), file_.string(), "q8_0"}).code, 0);
    hub_.add("m-Q8_0.gguf", read_file(file_));
    hub_.add("README.md", "a model", false);
  }
  Outcome run(std::vector<std::string> arguments, std::vector<std::string> more = {}) const {
    return run_augur(arguments,
                     {.input = {}, .environment = environment(std::move(more)), .stdout_path = {}});
  }
  std::vector<std::string> environment(std::vector<std::string> more = {}) const {
    more.push_back("HF_ENDPOINT=" + hub_.url());
    more.push_back("HF_HOME=" + home_.string());
    return more;
  }
  fs::path snapshot() const { return home_ / "hub" / "models--owner--name" / "snapshots" / FakeHub::kCommit; }

  fs::path home_, file_;
  FakeHub hub_;
};

TEST_F(Hub, AModelByItsNameIsTheModelByItsPath) {
  const std::string text = run({"generate", "-m", file_.string(), "-p", "Once", "-n", "30"}).out;
  const Outcome fetched = run({"generate", "-hf", "owner/name", "-p", "Once", "-n", "30"});
  EXPECT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_EQ(fetched.out, text);
  EXPECT_EQ(read_file(snapshot() / "m-Q8_0.gguf"), read_file(file_));
  EXPECT_EQ(run({"generate", "--hf-repo", "owner/name:q8_0", "-hfd", "owner/name", "--offline", "-p", "Once",
                 "-n", "30"})
                .out,
            text);
  EXPECT_EQ(run({"generate", "-hfr", "owner/name", "-hff", "m-Q8_0.gguf", "-p", "Once", "-n", "30"},
                {"HF_HUB_OFFLINE=1"})
                .out,
            text);
  EXPECT_EQ(hub_.downloads(), 1u);
  EXPECT_EQ(run({"tokenize", "-hf", "owner/name", "-p", "Once"}).out,
            run({"tokenize", "-m", file_.string(), "-p", "Once"}).out);
  const nlohmann::json found = nlohmann::json::parse(run({"inspect", "-hf", "owner/name", "--json"}).out);
  EXPECT_EQ(found["path"], (snapshot() / "m-Q8_0.gguf").string());
  // Where other arguments follow the model's, wherever the flag stands.
  const std::string made = temporary_file("made.gguf").string();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"quantize", "-hf", "owner/name:q8_0", made, "q4_0"},
        {"quantize", made, "q4_0", "-hf", "owner/name"},
        {"quantize", made, "--hf-repo=owner/name", "q4_0", "--offline"}}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("written: " + made));
    EXPECT_GT(fs::file_size(made), 100'000u);
    fs::remove(made);
  }
  const std::string folder = temporary_file("folder").string();
  EXPECT_EQ(run({"convert", "-hf", "owner/name", folder}).code, 0);
  EXPECT_EQ(run({"tokenize", "-m", folder, "-p", "Once"}).out,
            run({"tokenize", "-m", file_.string(), "-p", "Once"}).out);
  const Outcome decode = run({"bench", "decode", "-hf", "owner/name", "--rows", "1", "--repetitions", "1"});
  EXPECT_EQ(decode.code, 0) << decode.err;
}

TEST_F(Hub, AFolderIsFetchedWhereThereIsNoFile) {
  FakeHub folder;
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.model",
                           "tokenizer_config.json", "model.safetensors"}) {
    if (const fs::path path = fs::path(stories260k()) / name; fs::exists(path))
      folder.add(name, read_file(path));
  }
  const Outcome outcome =
      run_augur({"generate", "-hf", "owner/name", "-p", "Once", "-n", "20"},
                {.input = {},
                 .environment = {"HF_ENDPOINT=" + folder.url(), "HF_HOME=" + home_.string()},
                 .stdout_path = {}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, run({"generate", "-m", stories260k(), "-p", "Once", "-n", "20"}).out);
}

TEST_F(Hub, WhatGoesWrongIsOneSentence) {
  const Outcome quant = run({"generate", "-hf", "owner/name:Q2_K", "-p", "x"});
  EXPECT_EQ(quant.code, 1);
  EXPECT_EQ(quant.err, "augur: owner/name: has no GGUF file of Q2_K; it has m-Q8_0.gguf\n");
  const Outcome none = run({"generate", "-hf", "owner/other", "-p", "x"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("owner/other: " + hub_.url() + " answers 404"));
  const Outcome offline = run({"generate", "-hf", "owner/name", "-p", "x", "--offline"});
  EXPECT_THAT(offline.err, HasSubstr("owner/name: is not in the cache " + (home_ / "hub").string()));
  const Outcome endpoint =
      run_augur({"generate", "-hf", "owner/name", "-p", "x"},
                {.input = {}, .environment = {"HF_ENDPOINT=nowhere"}, .stdout_path = {}});
  EXPECT_THAT(endpoint.err, HasSubstr("HF_ENDPOINT: \"nowhere\" is no address of a hub"));
  EXPECT_EQ(hub_.downloads(), 0u);
}

/// Nothing but a fetch needs libcurl, and what is in the cache does without.
TEST_F(Hub, ItsLibraryIsLoadedByAFetchOnly) {
  const fs::path libraries = temporary_file("libraries");
  fs::create_directories(libraries);
  std::ofstream(libraries / "libcurl.so.4") << "no library";
  const std::vector<std::string> broken = {"LD_LIBRARY_PATH=" + libraries.string()};
  const std::string text = run({"generate", "-m", file_.string(), "-p", "Once", "-n", "5"}).out;
  EXPECT_EQ(run({"generate", "-m", file_.string(), "-p", "Once", "-n", "5"}, broken).out, text);
  const Outcome none = run({"generate", "-hf", "owner/name", "-p", "Once", "-n", "5"}, broken);
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("owner/name: is not in the cache"));
  EXPECT_THAT(none.err,
              HasSubstr("fetching a model takes libcurl (Debian's libcurl4), which cannot be loaded: "));
  EXPECT_THAT(none.err, HasSubstr((libraries / "libcurl.so.4").string()));
  EXPECT_EQ(run({"generate", "-hf", "owner/name", "-p", "Once", "-n", "5"}).out, text);
  const Outcome cached = run({"generate", "-hf", "owner/name", "-p", "Once", "-n", "5"}, broken);
  EXPECT_EQ(cached.out, text);
  EXPECT_THAT(cached.err, HasSubstr("warning: fetching a model takes libcurl"));
}

TEST_F(Hub, WrongFlagsAreSaidBeforeAnythingIsFetched) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"-hf", "owner"},
                                                {"-hf", "../../x"},
                                                {"-hf", "owner/name", "-m", "model"},
                                                {"-m", "model", "-hff", "m.gguf"},
                                                {"-hf", "owner/name", "-md", "x", "-hfd", "owner/name"},
                                                {"-hf", "owner/name", "--temp", "-1"},
                                                {}}) {
    std::vector<std::string> arguments = {"generate", "-p", "x"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(run(arguments).code, 2) << testing::PrintToString(flags);
  }
  for (const std::vector<std::string>& command : {std::vector<std::string>{"convert", "-hf", "owner/name"},
                                                  {"convert", "-hf", "owner", "out"},
                                                  {"convert", "-hf"},
                                                  {"convert", "in", "out", "-hf", "owner/name"},
                                                  {"quantize", "-hf", "owner/name", "out", "q9_9"},
                                                  {"quantize", "-hf", "owner/name", "out"}})
    EXPECT_EQ(run(command).code, 2) << testing::PrintToString(command);
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(Hub, ATokenIsForTheHubAlone) {
  hub_.answer_by(
      [](const FakeHub::Request& request, const FakeHub::Answer&) -> std::optional<FakeHub::Answer> {
        if (request.header("Authorization") == "Bearer hf_secret") return std::nullopt;
        return FakeHub::Answer{.status = 401};
      });
  const Outcome refused = run({"tokenize", "-hf", "owner/name", "-p", "Once"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("answers 401"));
  EXPECT_EQ(run({"tokenize", "-hf", "owner/name", "-p", "Once", "-hft", "hf_secret"}).code, 0);
  EXPECT_EQ(run({"tokenize", "-hf", "owner/name", "-p", "Once"}, {"HF_TOKEN=hf_secret"}).code, 0);
  const Outcome wrong = run({"tokenize", "-hf", "owner/name", "-p", "Once", "--hf-token", "hf_wrong"});
  EXPECT_THAT(wrong.err, HasSubstr("answers 401"));
  EXPECT_THAT(wrong.err, Not(HasSubstr("hf_wrong")));
  const Outcome lines = run({"tokenize", "-hf", "owner/name", "-p", "Once", "--hf-token", "a\r\nHost: b"});
  EXPECT_THAT(lines.err, HasSubstr("--hf-token: expected a token"));
  const Outcome shown = run({"serve", "-hf", "owner/name", "--hf-token", "hf_secret", "--print-config"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("hf-repo = \"owner/name\""));
  EXPECT_THAT(shown.out, Not(HasSubstr("hf_secret")));
}

TEST_F(Hub, ATokenIsHiddenFromPs) {
  hub_.answer_by([](const FakeHub::Request&, const FakeHub::Answer& usual) {
    FakeHub::Answer answer = usual;
    answer.held = true;
    return answer;
  });
  RunningAugur fetching({"tokenize", "-hf", "owner/name", "-p", "Once", "-hft", "hf_secret"}, environment());
  ASSERT_TRUE(testing_support::poll_until([&] { return !hub_.requests().empty(); }));
  const std::string line = read_file("/proc/" + std::to_string(fetching.pid()) + "/cmdline");
  EXPECT_THAT(line, HasSubstr("owner/name"));
  EXPECT_THAT(line, Not(HasSubstr("hf_secret")));
}

TEST_F(Hub, ASignalEndsAFetchWhichGoesOnLater) {
  hub_.answer_by([](const FakeHub::Request& request, const FakeHub::Answer& usual) {
    FakeHub::Answer answer = usual;
    answer.held = request.path.find("/resolve/") != std::string::npos;
    return answer;
  });
  const fs::path blobs = home_ / "hub" / "models--owner--name" / "blobs";
  const auto incomplete = blobs / (hub_.large_hash("m-Q8_0.gguf") + ".incomplete");
  const auto half = fs::file_size(file_) / 2;
  for (const int number : {SIGINT, SIGTERM}) {
    fs::remove_all(home_);
    RunningAugur fetching({"tokenize", "-hf", "owner/name", "-p", "Once"}, environment());
    ASSERT_TRUE(testing_support::poll_until(
        [&] { return fs::exists(incomplete) && fs::file_size(incomplete) == half; }));
    fetching.signal(number);
    const Outcome ended = fetching.wait();
    EXPECT_EQ(ended.code, 128 + number);
    EXPECT_EQ(ended.err, "augur: interrupted; what has come is kept, the same command goes on from there\n");
    EXPECT_EQ(fs::file_size(incomplete), half);
  }
  hub_.answer_by(nullptr);
  EXPECT_EQ(run({"tokenize", "-hf", "owner/name", "-p", "Once"}).code, 0);
  EXPECT_EQ(hub_.requests().back().from, half);
}

TEST_F(Hub, AServerTellsTheNameOnTheHub) {
  RunningAugur server({"serve", "--port", "0"}, environment({"AUGUR_HF_REPO=owner/name:Q8_0"}));
  const std::uint16_t port = server.port();
  ASSERT_NE(port, 0) << server.err();
  httplib::Client client("127.0.0.1", port);
  const auto models = client.Get("/v1/models");
  ASSERT_TRUE(models);
  EXPECT_EQ(nlohmann::json::parse(models->body)["data"][0]["id"], "owner/name:Q8_0");
}

}  // namespace
}  // namespace augur::test
