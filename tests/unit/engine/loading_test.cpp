// Loading: what is shared, from where, and what is told of it before and meanwhile.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "augur/engine.h"
#include "augur/memory_estimate.h"
#include "augur/model_description.h"
#include "base/error.h"
#include "engine/engine_access.h"
#include "files/mapped_file.h"
#include "support/error_of.h"
#include "support/quantised_models.h"
#include "support/sanitized.h"
#include "support/smollm2.h"
#include "support/stories_engine.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing_support::error_of;
using testing_support::kSanitized;
using testing_support::smollm2_path;
using testing_support::stories_engine_options;
using testing_support::stories_path;
using testing_support::TemporaryFolder;

/// Nothing is measured, and nothing is drafted unless a draft model is given.
EngineOptions options_of(const fs::path& model, const std::string& draft = {}) {
  EngineOptions options;
  options.model = model.string();
  options.draft_model = draft;
  options.threads = 2;
  options.cost_cache = "none";
  options.speculation.drafters = {"none"};
  options.draft_weights = DraftWeightFormat::Native;  // the same for every engine
  return options;
}

Request request(std::int64_t tokens = 24) {
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = tokens;
  return request;
}

std::vector<TokenId> ids(Engine& engine) {
  return engine.generate(request()).tokens;
}

const std::byte* first_weight(Engine& engine) {
  return EngineAccess::model(engine).embedding().panel(0);
}

/// Bytes of anonymous memory that this process holds.
double anonymous_memory() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib * 1024;
  }
  return 0;
}

/// What one engine of the options takes of anonymous memory that has read a prompt of so many tokens, and
/// two, in a process that has none.
struct Taken {
  double one = 0, two = 0;
};
Taken taken_in_a_child(const EngineOptions& options, std::size_t prompt) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    Taken taken;
    try {
      const double before = anonymous_memory();
      EngineOptions alone = options;
      alone.threads = 1;  // others wait for each other where the machine is busy
      Request text;
      text.prompt_tokens.assign(prompt, 100);
      text.max_tokens = 4;
      Engine first(alone);
      first.generate(text);
      taken.one = anonymous_memory() - before;
      Engine second(alone);
      second.generate(text);
      taken.two = anonymous_memory() - before;
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1);
  }
  close(ends[1]);
  Taken taken;
  const bool whole = read(ends[0], &taken, sizeof taken) == sizeof taken;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return whole && status == 0 ? taken : Taken{};
}

TEST(LoadingTwice, TakesLittleMoreMemoryThanOnce) {
  AUGUR_NEED_SMOLLM2();
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not the engine's";
  const std::string models = std::string(AUGUR_SOURCE_DIR) + "/models/";
  for (const std::string draft : {"", "smollm2-draft-11m", "smollm2-eagle3"}) {
    const Taken taken =
        taken_in_a_child(options_of(smollm2_path(), draft.empty() ? draft : models + draft), 8);
    ASSERT_GT(taken.one, 50e6) << draft;
    EXPECT_LT(taken.two, 1.1 * taken.one) << draft << ": " << taken.one / 1e6 << " MB, " << taken.two / 1e6;
    RecordProperty("one_mb" + draft, std::to_string(taken.one / 1e6));
    RecordProperty("two_mb" + draft, std::to_string(taken.two / 1e6));
  }
}

TEST(LoadingTwice, SharesTheWeightsOfOneFormAlone) {
  const auto first = std::make_unique<Engine>(options_of(stories_path()));
  Engine second(options_of(stories_path()));
  EXPECT_EQ(first_weight(*first), first_weight(second));
  EngineOptions floats = options_of(stories_path());
  floats.weights = WeightFormat::F32;
  Engine exact(floats);
  EXPECT_NE(first_weight(exact), first_weight(second));
}

TEST(LoadingTwice, IsNotConfusedByAFileThatWasReplaced) {
  const TemporaryFolder folder;
  for (const auto& entry : fs::directory_iterator(stories_path())) {
    if (entry.is_regular_file()) fs::copy_file(entry.path(), folder.path() / entry.path().filename());
  }
  Engine first(options_of(folder.path()));
  Engine same(options_of(folder.path()));
  EXPECT_EQ(first_weight(first), first_weight(same));
  const std::vector<TokenId> before = ids(first);
  const fs::path weights = folder.path() / "model.safetensors";
  fs::copy_file(weights, folder.path() / "new");
  fs::rename(folder.path() / "new", weights);
  Engine replaced(options_of(folder.path()));
  EXPECT_NE(first_weight(first), first_weight(replaced));
  EXPECT_EQ(ids(replaced), before);
  EXPECT_EQ(ids(first), before);
}

/// Two threads load one model at the same time, and then both generate.
TEST(LoadingTwice, AtOnceGivesEqualIds) {
  const TemporaryFolder folder;
  const fs::path file = testing_support::write_quantised_stories(folder.path(), DType::Q8_0);
  for (const bool speculates : {false, true}) {
    std::vector<std::vector<TokenId>> found(2);
    std::vector<const std::byte*> weights(2);
    std::vector<std::unique_ptr<Engine>> engines(2);
    const auto each = [&](const auto& work) {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < found.size(); ++i) threads.emplace_back([&, i] { work(i); });
    };
    each([&](std::size_t i) {
      EngineOptions options = options_of(file, speculates ? file.string() : "");
      if (speculates) options.speculation = {.drafters = {"draft"}, .policy = {.name = "chain"}};
      engines[i] = std::make_unique<Engine>(options);
      weights[i] = first_weight(*engines[i]);
    });
    EXPECT_EQ(weights[0], weights[1]);
    each([&](std::size_t i) {
      Request sampled = request(40);
      sampled.sampling.temperature = 0.9;
      sampled.sampling.seed = 3;
      found[i] = engines[i]->generate(sampled).tokens;
    });
    EXPECT_EQ(found[0], found[1]);
    EXPECT_FALSE(found[0].empty());
  }
}

/// A GGUF file's bytes.
std::vector<char> content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::span<const std::byte> bytes_of(const std::vector<char>& content) {
  return std::as_bytes(std::span(content));
}

class ModelContentTest : public testing::Test {
 protected:
  static EngineOptions with(ModelContent content) {
    EngineOptions options = options_of({});
    options.model_content = std::move(content);
    return options;
  }

  const TemporaryFolder folder_;
  const fs::path file_ = testing_support::write_quantised_stories(folder_.path(), DType::Q8_0);
  Engine path_{options_of(file_)};
};

TEST_F(ModelContentTest, GivesTheIdsAndFingerprintOfThePath) {
  auto content = std::make_shared<const std::vector<char>>(content_of(file_));
  const std::span<const std::byte> bytes = bytes_of(*content);
  const std::weak_ptr<const void> kept = content;
  {
    Engine memory(with({.bytes = bytes, .keeper = std::move(content)}));
    EXPECT_EQ(memory.info().fingerprint, path_.info().fingerprint);
    EXPECT_EQ(ids(memory), ids(path_));
    EXPECT_EQ(memory.info().path, "the model's content");
    EXPECT_FALSE(kept.expired());
  }
  EXPECT_TRUE(kept.expired());

  const int descriptor = open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  Engine opened(with({.descriptor = descriptor}));
  close(descriptor);
  EXPECT_EQ(opened.info().fingerprint, path_.info().fingerprint);
  EXPECT_EQ(ids(opened), ids(path_));
  EXPECT_EQ(first_weight(opened), first_weight(path_)) << "it is the same file";
}

TEST_F(ModelContentTest, HostileBytesAreErrors) {
  const std::vector<char> whole = content_of(file_);
  const auto kind_of = [&](const ModelContent& content) -> std::optional<ErrorKind> {
    try {
      const Engine engine(with(content));
    } catch (const Error& error) {
      return error.kind();
    }
    return std::nullopt;
  };
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{1000},
                                   whole.size() / 2, whole.size() - 64}) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const char none = 0;
    const auto bytes = length == 0 ? std::as_bytes(std::span(&none, 0)) : bytes_of(cut);
    const auto kind = kind_of({.bytes = bytes});
    EXPECT_TRUE(kind == ErrorKind::Malformed || kind == ErrorKind::Unsupported) << length;
  }
  std::vector<char> huge = whole;
  std::fill(huge.begin() + 8, huge.begin() + 16, '\x7f');  // the number of tensors
  EXPECT_EQ(kind_of({.bytes = bytes_of(huge)}), ErrorKind::Malformed);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(kind_of({.descriptor = ends[0]}), ErrorKind::NotFound);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(kind_of({.bytes = bytes_of(whole), .descriptor = 0}), ErrorKind::RefusedField);
}

TEST(DescribedModel, IsThatOfTheFolder) {
  const ModelDescription found = describe_model(stories_path().string());
  EXPECT_THAT(found.problems, IsEmpty());
  ASSERT_TRUE(found.shape);
  EXPECT_EQ(found.shape->family, "llama");
  EXPECT_EQ(found.shape->layers, 5);
  EXPECT_EQ(found.shape->vocab, 512);
  EXPECT_EQ(found.shape->hidden, 64);
  EXPECT_FALSE(found.gguf);
  EXPECT_EQ(found.tokenizer, "tokenizer.model");
  EXPECT_EQ(found.head_type, "");
  EXPECT_GT(found.parameters, 200'000);
  ASSERT_EQ(found.files.size(), 1U);
  EXPECT_EQ(found.files[0].tensors, found.tensors);
  EXPECT_EQ(found.files[0].bytes, found.weight_bytes);
  EXPECT_THAT(found.metadata, IsEmpty());
}

TEST(DescribedModel, IsThatOfTheFileAndOfItsBytes) {
  const TemporaryFolder folder;
  const fs::path file = testing_support::write_quantised_stories(folder.path(), DType::Q8_0);
  const ModelDescription found = describe_model(file.string());
  EXPECT_TRUE(found.gguf);
  ASSERT_TRUE(found.shape);
  EXPECT_EQ(found.shape->layers, 5);
  ASSERT_FALSE(found.weight_types.empty());
  EXPECT_THAT(found.metadata, Contains(Pair("general.architecture", "llama")));
  EXPECT_THAT(found.metadata, Contains(Pair("tokenizer.ggml.tokens", "[512 of string]")));
  EXPECT_THAT(found.metadata, Contains(Pair("llama.block_count", "5")));
  const std::vector<char> content = content_of(file);
  const ModelDescription same = describe_model({.bytes = bytes_of(content)}, "bytes");
  EXPECT_EQ(same.path, "bytes");
  EXPECT_EQ(same.metadata, found.metadata);
  EXPECT_EQ(same.parameters, found.parameters);
}

TEST(DescribedModel, MayBeAHead) {
  const ModelDescription head = describe_model(std::string(AUGUR_SOURCE_DIR) + "/models/smollm2-eagle3");
  EXPECT_EQ(head.head_type, "eagle3");
  EXPECT_THAT(head.head_target, AllOf(HasSubstr("30 layers"), HasSubstr("576 wide")));
  EXPECT_FALSE(head.shape) << "it is no model";
  EXPECT_GT(head.weight_bytes, 0);
}

TEST(DescribedModel, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  try {
    describe_model((folder.path() / "nothing").string());
    FAIL() << "there is nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::NotFound);
  }
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "unheard-of"})";
  const ModelDescription found = describe_model(folder.path().string());
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].kind, ErrorKind::Unsupported);
  EXPECT_THAT(found.problems[0].text, HasSubstr("unheard-of"));
}

/// What is known without loading is what the loaded model has.
TEST(EstimatedMemory, HasTheWeightsAndCachesOfTheLoadedModel) {
  const TemporaryFolder folder;
  for (const fs::path& path :
       {stories_path(), testing_support::write_quantised_stories(folder.path(), DType::Q8_0)}) {
    for (const KvFormat kv : {KvFormat::Auto, KvFormat::F32}) {
      EngineOptions options = options_of(path);
      options.kv = kv;
      options.context = 300;
      const MemoryEstimate estimate = estimate_memory(options, 3);
      Engine engine(options);
      std::int64_t weights = 0;
      EngineAccess::model(engine).visit_matrices(
          [&](const PackedMatrix& matrix) { weights += matrix.bytes(); });
      EXPECT_EQ(estimate.weights, weights);
      KvCache cache = EngineAccess::model(engine).make_cache();
      cache.reserve(300).commit_prefix(300);
      std::int64_t pages = 0;
      cache.for_pages([&](const std::byte*, std::int64_t bytes) { pages += bytes; });
      EXPECT_EQ(estimate.text, pages);
      EXPECT_EQ(estimate.texts, 3 * pages);
      EXPECT_EQ(estimate.token, cache.page_bytes() / kKvPageSlots);
      EXPECT_GT(estimate.mapped, 0);
      EXPECT_EQ(estimate.draft_weights, 0);
    }
  }
}

TEST(EstimatedMemory, IsBoundedByASession) {
  const SessionOptions session{.parallel = 2, .memory = 1 << 20, .cache_bytes = 1 << 30};
  const MemoryEstimate estimate = estimate_memory(options_of(stories_path()), session);
  EXPECT_EQ(estimate.texts + estimate.kept, session.memory);
  EXPECT_EQ(estimate.most(), estimate.loaded() + session.memory);
  EXPECT_THAT(error_of([] { estimate_memory(options_of(stories_path()), 0); }), HasSubstr("expected 1"));
  const SessionOptions endless{.cache_bytes = std::numeric_limits<std::int64_t>::max()};
  EXPECT_GT(estimate_memory(options_of(stories_path()), endless).most(), 0);
  EXPECT_THAT(
      error_of([] { estimate_memory(options_of(stories_path()), SessionOptions{.cache_bytes = -1}); }),
      HasSubstr("expected 0 or more"));
}

TEST(EstimatedMemory, IsWhatLoadingTakes) {
  AUGUR_NEED_SMOLLM2();
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not the engine's";
  const std::string models = std::string(AUGUR_SOURCE_DIR) + "/models/";
  for (const std::string draft : {"", "smollm2-draft-11m", "smollm2-eagle3"}) {
    EngineOptions options = options_of(smollm2_path(), draft.empty() ? draft : models + draft);
    const double estimate = static_cast<double>(estimate_memory(options).loaded());
    const double taken = taken_in_a_child(options, 256).one;
    EXPECT_GT(estimate, 0.9 * taken) << draft << " takes " << taken / 1e6 << " MB";
    EXPECT_LT(estimate, 1.1 * taken) << draft << " takes " << taken / 1e6 << " MB";
  }
}

TEST(LogHook, TellsWhatWasLoadedAndChosen) {
  EngineOptions options = options_of(stories_path(), stories_path().string());
  std::vector<std::pair<LogLevel, std::string>> lines;
  options.log = [&](LogLevel level, std::string_view text) { lines.emplace_back(level, text); };
  const Engine engine(options);
  EXPECT_THAT(lines, Contains(Pair(LogLevel::Info, AllOf(HasSubstr("llama"), HasSubstr(engine.info().isa),
                                                         HasSubstr("2 threads")))));
  EXPECT_THAT(lines, Contains(Pair(LogLevel::Info, HasSubstr("drafts as draft"))));
  EXPECT_THAT(lines, Contains(Pair(LogLevel::Debug, HasSubstr(engine.info().fingerprint))));
  for (const auto& [level, text] : lines) EXPECT_NE(level, LogLevel::Warning) << text;
}

/// The library has no stream of its own: what it has to say comes to the callback, or to nobody.
TEST(LogHook, IsTheOnlyVoice) {
  EngineOptions options = stories_engine_options();
  options.cost_cache = "/dev/null/costs";  // a warning
  options.speculation.drafters = {"ngram"};
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  std::vector<std::string> warnings;
  {
    options.log = [&](LogLevel level, std::string_view text) {
      if (level == LogLevel::Warning) warnings.emplace_back(text);
    };
    Engine engine(options);
    engine.generate(request());
    options.log = nullptr;
    Engine silent(options);
    silent.generate(request());
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(warnings, Contains(HasSubstr("/dev/null/costs")));
}

}  // namespace
}  // namespace augur
