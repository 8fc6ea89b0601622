// The training loop: it learns, goes on as if it had not stopped, and never damages what is finished.
#include "lab/train/training_run.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "files/safetensors.h"
#include "lab/train/learning_curve.h"
#include "support/error_of.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

TrainingOptions short_run() {
  return {.total_tokens = 2400,
          .step_tokens = 200,
          .learning_rate = 3e-3,
          .checkpoint_tokens = 480,
          .evaluate_tokens = 1000,
          .held_out = 4};
}

void no_log(const std::string&) {}

class EveryPart : public testing::TestWithParam<PartCase> {
 protected:
  TrainTarget target;
};

/// Another learner, which it hands everything on to.
class Wrapped : public Learner {
 public:
  explicit Wrapped(Learner& inner) : inner_(inner) {}
  std::string title() const override { return inner_.title(); }
  NamedTensors parameters() override { return inner_.parameters(); }
  Grade run(std::span<const Example> examples, bool learn) override { return inner_.run(examples, learn); }
  torch::Tensor draft_logits(const Example& e, std::int64_t root) override {
    return inner_.draft_logits(e, root);
  }
  void save(const std::filesystem::path& folder) override { inner_.save(folder); }

 protected:
  nlohmann::json config() const override { return inner_.settings(); }

 private:
  Learner& inner_;
};

/// Dies in its n-th visit, as a killed process does: nothing is written any more.
class Dying final : public Wrapped {
 public:
  Dying(Learner& inner, std::ptrdiff_t visits) : Wrapped(inner), left_(visits) {}
  Grade run(std::span<const Example> examples, bool learn) override {
    if (learn) left_ -= std::ssize(examples);
    if (left_ < 0) throw std::runtime_error("killed");
    return Wrapped::run(examples, learn);
  }

 private:
  std::ptrdiff_t left_;
};

TEST_P(EveryPart, LearnsAndGoesOnBitForBit) {
  const auto never = [] { return false; };
  const std::filesystem::path whole = target.folder.path() / "whole";
  const auto learner = GetParam().make(target);
  TrainingRun run(*learner, target.data, short_run(), whole, {.command = "c"}, no_log);
  const double before = run.evaluate().mean_loss();
  EXPECT_TRUE(run.train(never));
  EXPECT_LT(run.evaluate().mean_loss(), before);

  const std::filesystem::path pieces = target.folder.path() / "pieces";
  {
    const auto first = GetParam().make(target);
    Dying dying(*first, 22);  // after the first checkpoint, between two
    TrainingRun killed(dying, target.data, short_run(), pieces, {.command = "c"}, no_log);
    EXPECT_THROW(killed.train(never), std::runtime_error);
  }
  {
    const auto second = GetParam().make(target);
    TrainingRun stopped(*second, target.data, short_run(), pieces, {.command = "c"}, no_log);
    EXPECT_GT(stopped.tokens(), 0);
    EXPECT_FALSE(stopped.train([&] { return stopped.tokens() >= 1400; }));
  }
  const auto third = GetParam().make(target);
  TrainingRun rest(*third, target.data, short_run(), pieces, {.command = "c"}, no_log);
  EXPECT_GE(rest.tokens(), 1400);
  EXPECT_TRUE(rest.train(never));
  for (const auto& entry : std::filesystem::directory_iterator(whole)) {
    const auto name = entry.path().filename();
    EXPECT_EQ(content(entry.path()), content(pieces / name)) << name;
  }
}

TEST_P(EveryPart, KnowsItsTables) {
  const std::set<std::string> tables = {"lm_head.weight",
                                        "model.embed_tokens.weight",
                                        "markov_head.markov_w1.weight",
                                        "markov_head.markov_w2.weight",
                                        "0.2.weight",
                                        "1.2.weight",
                                        "2.2.weight",
                                        "hydra_lm_head.0.weight",
                                        "hydra_lm_head.1.weight",
                                        "hydra_lm_head.2.weight"};
  const auto learner = GetParam().make(target);
  for (const auto& [name, tensor] : learner->parameters())
    EXPECT_EQ(learner->is_table(name), tables.contains(name)) << name;
}

/// Lengths 40, 17 and 29 of the data's first sequences.
std::vector<Example> some_sequences(const Dataset& data) {
  std::vector<Example> examples;
  for (const std::size_t length : {40, 17, 29}) {
    Example example = data[std::ssize(examples)];
    example.tokens = example.tokens.first(length);
    example.learn = example.learn.first(length);
    example.key = 1000 + length;
    examples.push_back(example);
  }
  return examples;
}

TEST_P(EveryPart, LearnsFromSequencesTogetherWhatItLearnsFromEach) {
  const std::vector<Example> examples = some_sequences(target.data);
  const auto packed = GetParam().make(target);
  const auto single = GetParam().make(target);
  const Grade together = packed->run(examples, true);
  Grade each;
  for (const Example& example : examples) each.add(single->run({&example, 1}, true));
  EXPECT_GE(each.rows, 18);  // block drafters learn from 6 anchors of a sequence
  EXPECT_EQ(together.rows, each.rows);
  EXPECT_EQ(together.tries, each.tries);
  EXPECT_NEAR(together.loss, each.loss, 1e-3 * each.loss);
  const NamedTensors a = packed->parameters(), b = single->parameters();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const torch::Tensor found = a[i].second.grad(), expected = b[i].second.grad();
    ASSERT_EQ(found.defined(), expected.defined()) << a[i].first;
    if (!expected.defined() || expected.norm().item<double>() == 0) continue;
    EXPECT_LT(((found - expected).norm() / expected.norm()).item<double>(), 0.03) << a[i].first;
  }
}

TEST_P(EveryPart, WorkersLearnWhatOneLearns) {
  const auto first = GetParam().make(target);
  const auto second = GetParam().make(target);
  const auto alone = GetParam().make(target);
  TrainingOptions options = short_run();
  options.total_tokens = 400;  // a few steps: rounding differs, and grows with every step
  const std::filesystem::path folder = target.folder.path();
  TrainingRun together(*first, target.data, options, folder / "together", {}, no_log);
  together.add_worker(*second);
  TrainingRun serial(*alone, target.data, options, folder / "serial", {}, no_log);
  const auto never = [] { return false; };
  const double before = together.evaluate().mean_loss();
  ASSERT_TRUE(together.train(never));
  ASSERT_TRUE(serial.train(never));
  const double loss = serial.evaluate().mean_loss();
  EXPECT_LT(loss, before);
  EXPECT_NEAR(together.evaluate().mean_loss(), loss, 0.02 * (before - loss) + 1e-4 * loss);
}

INSTANTIATE_TEST_SUITE_P(Parts, EveryPart, testing::ValuesIn(all_parts()), part_name);

TEST(LearningCurve, IsReadAsItWasKept) {
  const TemporaryFolder folder;
  Grade grade(1);
  grade.loss = 1.61614999;  // 1.61615 in the file, which four digits round the other way
  grade.rows = 1;
  grade.count(0, 2, 3);
  LearningCurve kept(folder.path() / "curve.tsv", 0);
  kept.add(1000, grade);
  const LearningCurve read(folder.path() / "curve.tsv", 1000);
  ASSERT_EQ(read.points().size(), 1u);
  EXPECT_EQ(read.points()[0].loss, kept.points()[0].loss);
  EXPECT_EQ(read.points()[0].chain_length, kept.points()[0].chain_length);
  EXPECT_EQ(read.points()[0].agreement, kept.points()[0].agreement);
}

/// Writes beyond so many bytes of a file fail while it lives, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limited = before_;
    limited.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(TrainingRun, AFullDiskDamagesNoFinishedCheckpoint) {
  TrainTarget target;
  const std::filesystem::path folder = target.folder.path() / "run";
  const auto make = [&] { return std::make_unique<MtpLearner>(target.model, MtpLearner::Options{}); };
  {
    const auto learner = make();
    TrainingRun run(*learner, target.data, short_run(), folder, {}, no_log);
    EXPECT_FALSE(run.train([&] { return true; }));
  }
  const std::string checkpoint = content(folder / "checkpoint.safetensors");
  const std::string weights = content(folder / "model.safetensors");
  ASSERT_FALSE(checkpoint.empty());
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  const auto count = files();
  {
    const auto learner = make();
    TrainingRun run(*learner, target.data, short_run(), folder, {}, no_log);
    const FileSizeLimit limit(100'000);
    const std::string error = error_of([&] { run.train([] { return false; }); });
    EXPECT_NE(error.find("checkpoint.safetensors"), std::string::npos) << error;
  }
  EXPECT_EQ(content(folder / "checkpoint.safetensors"), checkpoint);
  EXPECT_EQ(content(folder / "model.safetensors"), weights);
  EXPECT_EQ(files(), count) << "nothing temporary is left";
  const auto learner = make();
  TrainingRun run(*learner, target.data, short_run(), folder, {}, no_log);
  EXPECT_GT(run.tokens(), 0);
  EXPECT_TRUE(run.train([] { return false; }));
}

TEST(TrainingRun, RefusesACheckpointOfOtherData) {
  TrainTarget target;
  const std::filesystem::path folder = target.folder.path() / "run";
  MtpLearner learner(target.model, {});
  TrainingRun(learner, target.data, short_run(), folder, {}, no_log).train([] { return true; });
  write_toy_data(target.folder.path() / "more.jsonl", 3);
  target.data.add_file(target.folder.path() / "more.jsonl");
  const std::string error =
      error_of([&] { TrainingRun(learner, target.data, short_run(), folder, {}, no_log); });
  EXPECT_NE(error.find("checkpoint.safetensors: made with other data"), std::string::npos) << error;
}

TEST(TrainingRun, GoesOnBitForBitWithWorkersAndMuon) {
  TrainTarget target;
  TrainingOptions options = short_run();
  options.muon = true;
  const auto train = [&](const char* name, const std::function<bool(std::int64_t)>& stop) {
    MtpLearner first(target.model, {}), second(target.model, {});
    TrainingRun run(first, target.data, options, target.folder.path() / name, {}, no_log);
    run.add_worker(second);
    return run.train([&] { return stop(run.tokens()); });
  };
  ASSERT_TRUE(train("whole", [](std::int64_t) { return false; }));
  EXPECT_FALSE(train("pieces", [](std::int64_t tokens) { return tokens >= 1400; }));
  ASSERT_TRUE(train("pieces", [](std::int64_t) { return false; }));
  for (const char* file : {"checkpoint.safetensors", "model.safetensors", "curve.tsv"}) {
    EXPECT_EQ(content(target.folder.path() / "whole" / file), content(target.folder.path() / "pieces" / file))
        << file;
  }
}

/// Notes how many of each sequence's tokens it is to learn, and is to be graded by.
class Noting final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  Grade run(std::span<const Example> examples, bool learn) override {
    for (const Example& e : examples)
      (learn ? learnt : graded).insert(std::accumulate(e.learn.begin(), e.learn.end(), 0));
    return Wrapped::run(examples, learn);
  }

  std::set<int> learnt, graded;
};

TEST(TrainingRun, LearnsPromptsWhereAsked) {
  TrainTarget target;  // sequences of 40 tokens, 8 of them prompt
  for (const bool prompts : {false, true}) {
    TrainingOptions options = short_run();
    options.learn_prompts = prompts;
    options.total_tokens = 400;
    MtpLearner learner(target.model, {});
    Noting noting(learner);
    TrainingRun run(noting, target.data, options, target.folder.path() / (prompts ? "whole" : "answers"), {},
                    no_log);
    ASSERT_TRUE(run.train([] { return false; }));
    EXPECT_EQ(noting.learnt, std::set<int>{prompts ? 40 : 32});
    EXPECT_EQ(noting.graded, std::set<int>{32});
  }
}

// As when the last save failed after the checkpoint's.
TEST(TrainingRun, AFinishedOneWritesThePartThatIsMissing) {
  TrainTarget target;
  const std::filesystem::path folder = target.folder.path() / "run";
  const auto train = [&] {
    MtpLearner learner(target.model, {});
    return TrainingRun(learner, target.data, short_run(), folder, {}, no_log).train([] { return false; });
  };
  ASSERT_TRUE(train());
  std::map<std::string, std::string> expected;
  for (const char* file : {"model.safetensors", "config.json", "README.md"}) {
    expected[file] = content(folder / file);
    std::filesystem::remove(folder / file);
  }
  EXPECT_TRUE(train());
  for (const auto& [file, text] : expected) EXPECT_EQ(content(folder / file), text) << file;
}

TEST(TrainingRun, RefusesACheckpointOfOtherSettings) {
  TrainTarget target;
  const std::filesystem::path folder = target.folder.path() / "run";
  const auto problem = [&](int exit_layer, const TrainingOptions& options) {
    EarlyExitLearner learner(target.model, target.whole(), {.exit_layer = exit_layer});
    return error_of(
        [&] { TrainingRun(learner, target.data, options, folder, {}, no_log).train([] { return true; }); });
  };
  TrainingOptions options = short_run();
  ASSERT_EQ(problem(2, options), "no error");
  EXPECT_NE(problem(1, options).find("made with other settings (part/exit_layer: 2, now 1)"),
            std::string::npos);
  TrainingOptions other = options;
  other.muon = true;
  EXPECT_NE(problem(2, other).find("optimizer: \"adamw\", now \"muon\""), std::string::npos);
  other = options;
  other.held_out = 5;
  EXPECT_NE(problem(2, other).find("held_out: 4, now 5"), std::string::npos);
  options.total_tokens = 4800;
  options.learning_rate = 1e-3;
  options.checkpoint_tokens = 1000;
  EXPECT_EQ(problem(2, options), "no error");
}

TEST(TrainingRun, RefusesACheckpointOfAnotherDraftVocabulary) {
  TrainTarget target;
  const std::filesystem::path folder = target.folder.path() / "run";
  const auto problem = [&](const DraftVocabulary& vocabulary) {
    Eagle3Learner learner(target.model, vocabulary, {.taps = default_taps(target.model.config())});
    return error_of([&] {
      TrainingRun(learner, target.data, short_run(), folder, {}, no_log).train([] { return true; });
    });
  };
  std::vector<TokenId> first(96);
  std::iota(first.begin(), first.end(), 0);
  ASSERT_EQ(problem(target.reduced()), "no error");
  EXPECT_NE(problem({192, first}).find("part/d2t: "), std::string::npos);
  EXPECT_EQ(problem(target.reduced()), "no error");
}

/// A checkpoint as versions wrote it that did not keep one of its tensors.
void drop_tensor(const std::filesystem::path& file, std::string_view dropped) {
  NamedTensors kept;
  {
    const auto store = open_safetensors(file);
    for (const auto& [name, tensor] : store->tensors()) {
      const torch::Tensor values = to_torch(tensor);  // int64 of bytes, too
      if (name != dropped)
        kept.emplace_back(name, tensor.dtype == DType::U8 ? values.to(torch::kUInt8) : values);
    }
    ASSERT_EQ(kept.size() + 1, store->tensors().size()) << dropped;
  }
  save_tensors(file, kept);
}

TEST(TrainingRun, GoesOnWithoutSettingsAndSaysSo) {
  TrainTarget target;
  const std::filesystem::path file = target.folder.path() / "run" / "checkpoint.safetensors";
  MtpLearner learner(target.model, {});
  TrainingRun(learner, target.data, short_run(), file.parent_path(), {}, no_log).train([] { return true; });
  drop_tensor(file, "settings");
  std::string log;
  TrainingRun run(learner, target.data, short_run(), file.parent_path(), {},
                  [&](const std::string& line) { log += line; });
  EXPECT_NE(log.find("from an earlier version"), std::string::npos) << log;
  EXPECT_GT(run.tokens(), 0);
}

TEST(TrainingRun, GoesOnBitForBitWhereUpdatesWereNotCounted) {
  TrainTarget target;
  const auto train = [&](const char* name, std::int64_t until) {
    MtpLearner learner(target.model, {});
    TrainingRun run(learner, target.data, short_run(), target.folder.path() / name, {}, no_log);
    run.train([&] { return run.tokens() >= until; });
  };
  train("whole", 2400);
  train("pieces", 1400);
  drop_tensor(target.folder.path() / "pieces" / "checkpoint.safetensors", "updates");
  train("pieces", 2400);
  EXPECT_EQ(content(target.folder.path() / "whole" / "checkpoint.safetensors"),
            content(target.folder.path() / "pieces" / "checkpoint.safetensors"));
}

TEST(TrainingRun, SaysWhatItTakesAndLearnsNothingFromThat) {
  TrainTarget target;
  const auto train = [&](const char* name, bool asks) {
    MtpLearner first(target.model, {}), second(target.model, {});
    const std::filesystem::path folder = target.folder.path() / name;
    TrainingRun run(first, target.data, short_run(), folder, {}, no_log);
    run.add_worker(second);
    const TrainingNeeds needs = asks ? run.needs() : TrainingNeeds{};
    EXPECT_FALSE(run.train([&] { return run.tokens() >= 1000; }));
    const TrainingNeeds rest = asks ? run.needs() : TrainingNeeds{};
    EXPECT_TRUE(run.train([] { return false; }));
    if (!asks) return;
    EXPECT_EQ(needs.tokens, 2400);
    EXPECT_LE(rest.tokens, 1400);
    EXPECT_GT(needs.tokens_a_second, 0);
    EXPECT_GT(needs.memory_bytes, 10 << 20);
    std::int64_t written = 0;
    for (const char* file : {"checkpoint.safetensors", "model.safetensors"})
      written += static_cast<std::int64_t>(std::filesystem::file_size(folder / file));
    EXPECT_GT(needs.disk_bytes, 1.9 * static_cast<double>(written));
    EXPECT_LT(needs.disk_bytes, 2.1 * static_cast<double>(written));
  };
  train("silent", false);
  train("asked", true);
  for (const char* file : {"checkpoint.safetensors", "model.safetensors", "curve.tsv"}) {
    EXPECT_EQ(content(target.folder.path() / "silent" / file), content(target.folder.path() / "asked" / file))
        << file;
  }
}

TEST(TrainingNeeds, AreToldInUnitsForPeople) {
  EXPECT_EQ(
      (TrainingNeeds{.tokens = 7'200'000,
                     .tokens_a_second = 1000,
                     .memory_bytes = std::int64_t{3} << 30,
                     .disk_bytes = 50 << 20})
          .summary(),
      "7200000 tokens to learn: about 2 h 00 min (1000 tok/s in a step made for this), 3.0 GiB of memory, "
      "50 MiB of disk");
}

TEST(TrainingNeeds, RefuseADiskWithoutRoom) {
  const TemporaryFolder folder;
  const std::int64_t much = std::int64_t{1} << 60;
  const std::string error = error_of([&] { check_room(folder.path(), much, 0); });
  EXPECT_NE(error.find(folder.path().string() + ": a checkpoint"), std::string::npos) << error;
  EXPECT_EQ(error_of([&] { check_room(folder.path(), much, much); }), "no error");
}

TEST(TrainingRun, WritesACard) {
  TrainTarget target;
  const std::filesystem::path folder = target.folder.path() / "run";
  MtpLearner learner(target.model, {});
  TrainingRun run(learner, target.data, short_run(), folder,
                  {.target = "tiny", .data = {"toys: 24 sequences"}, .command = "augur train mtp"}, no_log);
  run.train([] { return false; });
  const std::string card = content(folder / "README.md");
  for (const char* part : {"# Multi-token prediction layer", "`tiny`", "augur train mtp",
                           "* toys: 24 sequences", "2400 planned", "| 0 | "}) {
    EXPECT_NE(card.find(part), std::string::npos) << part << "\n" << card;
  }
}

}  // namespace
}  // namespace augur
