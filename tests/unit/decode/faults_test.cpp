// Whatever is thrown for a sequence, wherever, ends that one and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>

#include "base/error.h"
#include "decode/decoder.h"
#include "support/generation.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Stories;

enum class Kind { Standard, Ours, NoMemory, NoException };
constexpr Kind kKinds[] = {Kind::Standard, Kind::Ours, Kind::NoMemory, Kind::NoException};

[[noreturn]] void throw_one(Kind kind) {
  switch (kind) {
    case Kind::Standard:
      throw std::logic_error("standard");
    case Kind::Ours:
      throw Error("ours");
    case Kind::NoMemory:
      throw std::bad_alloc();
    case Kind::NoException:
      break;
  }
  throw 42;
}

bool is_of(const std::exception_ptr& thrown, Kind kind) {
  if (!thrown) return false;
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return kind == Kind::Ours && error.what() == std::string("ours");
  } catch (const std::logic_error& error) {
    return kind == Kind::Standard && error.what() == std::string("standard");
  } catch (const std::bad_alloc&) {
    return kind == Kind::NoMemory;
  } catch (int number) {
    return kind == Kind::NoException && number == 42;
  }
}

/// Where something is to go wrong: in the place's n-th call and all later ones.
struct Fault {
  std::string place;
  Kind kind = Kind::Standard;
  int from = 1;
  int calls = 0;

  void reach(std::string_view here) {
    if (here == place && ++calls >= from) throw_one(kind);
  }
};

void reach(Fault* fault, std::string_view here) {
  if (fault != nullptr) fault->reach(here);
}

constexpr const char* kPlaces[] = {
    "on_token",          "on_prefill",      "on_step",           "drafter.traits",      "drafter.name",
    "drafter.group",     "drafter.sync",    "drafter.expand",    "drafter.expand_many", "drafter.take",
    "drafter.end_round", "drafter.saw",     "policy.wants",      "policy.begin",        "policy.frontier",
    "policy.width",      "policy.branches", "policy.confidence", "policy.prune",        "policy.forecast",
    "policy.observe",
};
constexpr const char* kControllerPlaces[] = {"controller.begin", "controller.plan", "controller.drafted",
                                             "controller.cut", "controller.observe"};
constexpr const char* kConstructionPlaces[] = {"drafter.reset", "drafter.tap_layers", "drafter.target_wants"};

/// Proposes the text that it was told, every third token wrongly. All of these draft together.
class TruthDrafter final : public Drafter {
 public:
  TruthDrafter(std::vector<TokenId> truth, Fault* fault) : truth_(std::move(truth)), fault_(fault) {}
  std::string_view name() const override {
    reach(fault_, "drafter.name");
    return "truth";
  }
  DrafterTraits traits() const override {
    reach(fault_, "drafter.traits");
    return {};
  }
  std::span<const int> tap_layers() const override {
    reach(fault_, "drafter.tap_layers");
    return {};
  }
  std::optional<TargetWants> target_wants() const override {
    reach(fault_, "drafter.target_wants");
    return TargetWants{.top_k = 2};
  }
  void saw(const TargetRows&) override { reach(fault_, "drafter.saw"); }
  void reset() override { reach(fault_, "drafter.reset"); }
  void sync(const AcceptedRows&) override { reach(fault_, "drafter.sync"); }
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    reach(fault_, "drafter.expand");
    for (const std::int32_t node : frontier) {
      const auto at =
          static_cast<std::size_t>(tree.root_position() + tree.depths()[static_cast<std::size_t>(node)] + 1);
      if (at < truth_.size()) {
        tree.add(node, at % 3 == 0 ? (truth_[at] + 1) % 512 : truth_[at], 0, options.proposer);
      }
    }
  }
  void expand_many(std::span<const ExpandJob> jobs) override {
    for (const ExpandJob& job : jobs) {
      reach(static_cast<TruthDrafter*>(job.drafter)->fault_, "drafter.expand_many");
      job.drafter->expand(*job.tree, job.frontier, job.options);
    }
  }
  std::optional<EarlyRows> take_early_rows() override {
    reach(fault_, "drafter.take");
    return std::nullopt;
  }
  void end_round() override { reach(fault_, "drafter.end_round"); }
  const void* group() const override {
    reach(fault_, "drafter.group");
    static const int all = 0;
    return &all;
  }

 private:
  std::vector<TokenId> truth_;
  Fault* fault_;
};

/// A chain of two.
class ShortChain final : public TreePolicy {
 public:
  explicit ShortChain(Fault* fault) : fault_(fault) {}
  NodeWants wants() const override {
    reach(fault_, "policy.wants");
    return {};
  }
  void begin(const RoundInfo&) override {
    reach(fault_, "policy.begin");
    level_ = 0;
  }
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override {
    reach(fault_, "policy.frontier");
    out.clear();
    if (level_++ < 2) out.push_back(tree.size() - 1);
  }
  int width() const override {
    reach(fault_, "policy.width");
    return 1;
  }
  double least_confidence() const override {
    reach(fault_, "policy.confidence");
    return 0.0;
  }
  bool branches() const override {
    reach(fault_, "policy.branches");
    return false;
  }
  void prune(DraftTree&) override { reach(fault_, "policy.prune"); }
  StepForecast forecast() const override {
    reach(fault_, "policy.forecast");
    return {};
  }
  void observe(const StepTrace&) override { reach(fault_, "policy.observe"); }

 private:
  Fault* fault_;
  int level_ = 0;
};

/// Leaves all as it is.
class IdleController final : public RoundController {
 public:
  explicit IdleController(Fault* fault) : fault_(fault) {}
  void begin(std::span<RoundMember* const>, int) override { reach(fault_, "controller.begin"); }
  void plan(int, std::span<RoundMember* const>) override { reach(fault_, "controller.plan"); }
  void drafted(std::span<RoundMember* const>) override { reach(fault_, "controller.drafted"); }
  void cut(std::span<RoundMember* const>) override { reach(fault_, "controller.cut"); }
  void observe(std::span<RoundMember* const>) override { reach(fault_, "controller.observe"); }

 private:
  Fault* fault_;
};

class FaultsTest : public testing::TestWithParam<std::tuple<const char*, Kind>> {
 protected:
  static constexpr std::int64_t kTokens = 20;

  Fault make_fault(int from) const { return {std::get<0>(GetParam()), std::get<1>(GetParam()), from}; }

  std::unique_ptr<Sequence> make(std::size_t text, Fault* fault,
                                 std::shared_ptr<RoundController> controller = nullptr) {
    std::vector<TokenId> whole = prompts_[text];
    whole.insert(whole.end(), truth_[text].begin(), truth_[text].end());
    SequenceOptions options{.sampling = sampling_, .max_tokens = kTokens};
    options.speculation.drafters.push_back(
        {std::make_unique<TruthDrafter>(std::move(whole), fault), std::make_unique<ShortChain>(fault)});
    options.speculation.steering.controller = std::move(controller);
    options.on_token = [fault](const EmittedToken&) {
      reach(fault, "on_token");
      return AfterToken::Continue;
    };
    options.on_prefill = [fault](std::int64_t, std::int64_t) { reach(fault, "on_prefill"); };
    options.on_step = [fault](const StepTrace&) { reach(fault, "on_step"); };
    return std::make_unique<Sequence>(*stories_.model, prompts_[text], std::move(options));
  }

  /// Runs them as one batch to their ends.
  void run(Decoder& decoder, std::vector<Sequence*> batch) {
    while (std::any_of(batch.begin(), batch.end(), [](const Sequence* s) { return !s->finished(); })) {
      decoder.step(batch);
    }
  }

  void expect_whole(const Sequence& sequence, std::size_t text) const {
    EXPECT_EQ(sequence.finish_reason(), FinishReason::Length);
    EXPECT_EQ(sequence.failure(), nullptr);
    EXPECT_TRUE(std::ranges::equal(sequence.generated(), truth_[text])) << "text " << text;
  }
  void expect_failed(const Sequence& sequence, std::size_t text, Kind kind) const {
    EXPECT_EQ(sequence.finish_reason(), FinishReason::Error);
    EXPECT_TRUE(is_of(sequence.failure(), kind));
    ASSERT_LE(sequence.generated().size(), truth_[text].size());
    EXPECT_TRUE(std::equal(sequence.generated().begin(), sequence.generated().end(), truth_[text].begin()));
  }

  Stories stories_;
  SamplingOptions sampling_{.temperature = 1.0f, .seed = 5};
  std::vector<std::vector<TokenId>> prompts_{stories_.prompt("Once upon a time, there was a"),
                                             stories_.prompt("The dog"),
                                             stories_.prompt("One day, a big cat saw")};
  std::vector<std::vector<TokenId>> truth_ = [this] {
    std::vector<std::vector<TokenId>> all;
    for (const auto& prompt : prompts_) {
      all.push_back(
          generate(*stories_.model, {prompt}, {.sampling = sampling_, .tokens = kTokens}).tokens[0]);
    }
    return all;
  }();
};

std::string name_of(const testing::TestParamInfo<FaultsTest::ParamType>& test) {
  static constexpr const char* kNames[] = {"Standard", "Ours", "NoMemory", "NoException"};
  std::string name = std::get<0>(test.param);
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + kNames[static_cast<int>(std::get<1>(test.param))];
}

using Faults = FaultsTest;

TEST_P(Faults, EndTheirSequenceAndNoOther) {
  // Whose costs a drafter's are is asked once.
  const int last = std::string_view(std::get<0>(GetParam())) == "drafter.name" ? 1 : 2;
  for (int from = 1; from <= last; ++from) {
    SCOPED_TRACE(testing::Message() << "from call " << from);
    Fault here = make_fault(from);
    // Prompts take several steps, so that drafting and reading share some.
    Decoder decoder(*stories_.model, {.prefill_rows = 6});
    const auto bad = make(0, &here);
    const auto second = make(1, nullptr);
    const auto third = make(2, nullptr);
    run(decoder, {second.get(), bad.get(), third.get()});
    EXPECT_GE(here.calls, from) << "the place is reached";
    expect_failed(*bad, 0, here.kind);
    expect_whole(*second, 1);
    expect_whole(*third, 2);

    const auto again = make(0, nullptr);
    run(decoder, {again.get(), bad.get()});
    expect_whole(*again, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Decoder, Faults,
                         testing::Combine(testing::ValuesIn(kPlaces), testing::ValuesIn(kKinds)), name_of);

using ControllerFaults = FaultsTest;

TEST_P(ControllerFaults, EndTheSequencesOfTheControllerAndNoOthers) {
  for (const int from : {1, 2}) {
    SCOPED_TRACE(testing::Message() << "from call " << from);
    Fault here = make_fault(from);
    Decoder decoder(*stories_.model);
    const auto controller = std::make_shared<IdleController>(&here);
    const auto first = make(0, nullptr, controller);
    const auto second = make(1, nullptr, controller);
    const auto other = make(2, nullptr, std::make_shared<IdleController>(nullptr));
    const auto alone = make(1, nullptr);
    run(decoder, {first.get(), other.get(), alone.get(), second.get()});
    expect_failed(*first, 0, here.kind);
    expect_failed(*second, 1, here.kind);
    expect_whole(*other, 2);
    expect_whole(*alone, 1);

    here.place = "none";
    const auto again = make(0, nullptr, controller);
    run(decoder, {again.get()});
    expect_whole(*again, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Decoder, ControllerFaults,
                         testing::Combine(testing::ValuesIn(kControllerPlaces), testing::ValuesIn(kKinds)),
                         name_of);

using ConstructionFaults = FaultsTest;

TEST_P(ConstructionFaults, AreThrownToWhoMakesTheSequence) {
  Decoder decoder(*stories_.model);
  const auto other = make(1, nullptr);
  Sequence* const batch[] = {other.get()};
  decoder.step(batch);
  Fault here = make_fault(1);
  try {
    make(0, &here);
    FAIL() << "nothing was thrown";
  } catch (...) {
    EXPECT_TRUE(is_of(std::current_exception(), here.kind));
  }
  run(decoder, {other.get()});
  expect_whole(*other, 1);
}

INSTANTIATE_TEST_SUITE_P(Decoder, ConstructionFaults,
                         testing::Combine(testing::ValuesIn(kConstructionPlaces), testing::ValuesIn(kKinds)),
                         name_of);

}  // namespace
}  // namespace augur
