// A training that is killed goes on as if it had not been, and one of a hub's model is that of the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "support/eventually.h"
#include "support/fake_hub.h"
#include "support/test_files.h"

namespace augur::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_support::FakeHub;
using testing_support::poll_until;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

void expect_same_files(const fs::path& expected, const fs::path& found) {
  EXPECT_EQ(names_in(expected), names_in(found));
  for (const std::string& name : names_in(expected))
    EXPECT_TRUE(read_file(expected / name) == read_file(found / name)) << name << " differs";
}

class InterruptedTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(fs::path(AUGUR_PROGRAM).parent_path() / "augur-train"))
      GTEST_SKIP() << "augur-train is not built";
    std::ofstream out(prompts_);
    for (int i = 0; i < 12; ++i) {
      out << R"({"text": "Once upon a time, there was a girl named Lily. She had )" << i << " red balls\"}\n";
    }
  }
  std::vector<std::string> training(const std::vector<std::string>& model, const fs::path& folder) const {
    std::vector<std::string> command = {"train",           "mtp", "--generate",
                                        prompts_.string(), "-o",  folder.string()};
    command.insert(command.end(), model.begin(), model.end());
    command.insert(command.end(), {"--tokens", "4000", "--step-tokens", "200", "--checkpoint-tokens", "800",
                                   "--evaluate-tokens", "1000", "--held-out", "2", "-t", "2", "--workers",
                                   "2", "--device", "cpu"});
    return command;
  }

  fs::path prompts_ = temporary_file("prompts.jsonl");
};

TEST_F(InterruptedTraining, KilledAtAnyMomentItEndsWithTheSameFiles) {
  const fs::path folder = temporary_file("part"), whole = temporary_file("whole");
  const std::vector<std::string> command = training({"-m", stories260k()}, folder);
  const Outcome undisturbed = run_augur(command);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  fs::rename(folder, whole);

  const fs::path answers = folder / "answers.jsonl", checkpoint = folder / "checkpoint.safetensors";
  fs::file_time_type written;
  const auto is_new = [&] {
    std::error_code missing;
    const fs::file_time_type now = fs::last_write_time(checkpoint, missing);
    return !missing && now != written;
  };
  using Moment = std::pair<const char*, std::function<bool(const RunningAugur&)>>;
  const Moment moments[] = {
      {"before anything is there", [](const RunningAugur&) { return true; }},
      {"the first answer is written",
       [&](const RunningAugur&) { return fs::exists(answers) && fs::file_size(answers) > 0; }},
      {"the answers are there",
       [&](const RunningAugur& run) { return run.err().find("12 answers") != std::string::npos; }},
      {"a step is tried",
       [&](const RunningAugur& run) { return run.err().find("tokens to learn") != std::string::npos; }},
      {"the first checkpoint is there", [&](const RunningAugur&) { return is_new(); }},
      {"the next checkpoint is there", [&](const RunningAugur&) { return is_new(); }},
  };
  for (const auto& [moment, reached] : moments) {
    if (fs::exists(checkpoint)) written = fs::last_write_time(checkpoint);
    RunningAugur run(command);
    ASSERT_TRUE(poll_until([&] { return reached(run); })) << moment << "\n" << run.err();
    run.signal(SIGKILL);
    EXPECT_EQ(run.wait().signal, SIGKILL) << moment;
  }
  std::ofstream(folder / "model.safetensors.Ab12Yz.tmp") << "what was being written";
  const Outcome rest = run_augur(command);
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("12 answers are there, 0 to go"));
  expect_same_files(whole, folder);
}

TEST_F(InterruptedTraining, AHubsModelTrainsAsItsFileDoes) {
  const fs::path file = temporary_file("m-Q8_0.gguf"), home = temporary_file("home");
  ASSERT_EQ(run_augur({"quantize", stories260k(), file.string(), "q8_0"}).code, 0);
  FakeHub hub;
  hub.add(file.filename().string(), read_file(file));
  const ProgramOptions environment{.input = {},
                                   .environment = {"HF_ENDPOINT=" + hub.url(), "HF_HOME=" + home.string()},
                                   .stdout_path = {}};
  const fs::path folder = temporary_file("part"), by_path = temporary_file("by_path");
  const Outcome expected = run_augur(training({"-m", file.string()}, folder));
  ASSERT_EQ(expected.code, 0) << expected.err;
  fs::rename(folder, by_path);

  std::vector<std::string> command = training({"-hf", "owner/name:Q8_0"}, folder);
  const Outcome fetched = run_augur(command, environment);
  ASSERT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_EQ(hub.downloads(), 1u);
  EXPECT_THAT(read_file(folder / "README.md"), HasSubstr("owner/name"));
  fs::remove(folder / "README.md");  // which names the target and the command
  fs::remove(by_path / "README.md");
  expect_same_files(by_path, folder);

  command.push_back("--offline");
  const Outcome again = run_augur(command, environment);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(hub.downloads(), 1u);
  const Outcome missing = run_augur(training({"-hf", "owner/other"}, folder), environment);
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("owner/other"));
}

}  // namespace
}  // namespace augur::test
