// Traces: what the recorder keeps of real rounds, the file's round trip and its errors, labels and pairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lab/trace/recorder.h"
#include "lab/trace/target_probabilities.h"
#include "lab/trace/trace_file.h"
#include "support/error_of.h"
#include "support/generation.h"
#include "support/stories.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;
using testing_support::TemporaryFolder;

TraceHeader some_header() {
  TraceHeader header;
  header.target = {.family = "llama", .hidden = 4, .layers = 1, .vocab = 100, .digest = "00"};
  header.target_name = "target";
  header.drafter = "draft";
  header.hidden = 2;
  return header;
}

/// The text 1 2 3 4 5 6; its one round starts from the 3. Candidates: 4 (right) with 5 (right) and 9; 7.
TraceSequence some_sequence() {
  TraceSequence sequence;
  sequence.prompt_size = 2;
  sequence.tokens = {1, 2, 3, 4, 5, 6};
  TraceRound round;
  round.root = 2;
  round.tokens = {3, 7, 4, 5, 9, 6, 8};
  round.parents = {-1, 0, 0, 2, 2, 3, 1};
  round.log_probs = {0, -0.5f, -1.0f, -0.25f, -2.0f, -0.125f, -4.0f};
  round.entropies = {1, 1, 1, 1, NAN, NAN, NAN};
  round.top_entropies = {0.5f, 8.0f, 0.25f, 0.125f, NAN, NAN, NAN};
  round.stateful = {2, 3};
  round.hidden = {1, 2, 3, 4};
  round.verified = 6;
  round.draft_ms = 1.5f;
  sequence.rounds.push_back(round);
  return sequence;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

void read_all(const std::filesystem::path& file) {
  TraceReader reader(file);
  TraceSequence sequence;
  while (reader.next(sequence)) {
  }
}

TEST(TraceLabels, FollowTheText) {
  TraceSequence sequence = some_sequence();
  std::vector<NodeLabel> labels;
  label_nodes(sequence, sequence.rounds[0], labels);
  using enum NodeLabel;
  EXPECT_THAT(labels,
              testing::ElementsAre(Accepted, Rejected, Accepted, Accepted, Rejected, Accepted, Rejected));
  sequence.tokens.pop_back();
  label_nodes(sequence, sequence.rounds[0], labels);
  EXPECT_THAT(labels,
              testing::ElementsAre(Accepted, Rejected, Accepted, Accepted, Rejected, Unknown, Rejected));
}

TEST(TraceLabels, HeteroPairsRankTheLastAcceptedNode) {
  TraceSequence sequence = some_sequence();
  // By score: 7 (-0.5), 4 (-1), 5 (-1.25), 6 (-1.375), 9 (-3), 8 (-4.5).
  HeteroPair pair = hetero_pair(sequence, sequence.rounds[0], 60);
  EXPECT_TRUE(pair.known);
  EXPECT_EQ(pair.rank, 4);
  EXPECT_EQ(pair.length, 3);
  EXPECT_EQ(pair.levels, 3);
  EXPECT_TRUE(pair.fully_accepted);
  EXPECT_DOUBLE_EQ(pair.entropy, 0.875);  // the path to the 6: root, 4, 5
  EXPECT_EQ(hetero_pair(sequence, sequence.rounds[0], 4).rank, 3) << "only three candidates beside the root";
  sequence.tokens[4] = 50;
  pair = hetero_pair(sequence, sequence.rounds[0], 60);
  EXPECT_EQ(pair.rank, 2);
  EXPECT_EQ(pair.length, 1);
  EXPECT_FALSE(pair.fully_accepted);
  sequence.tokens.resize(4);
  EXPECT_FALSE(hetero_pair(sequence, sequence.rounds[0], 60).known);
}

TEST(TraceFile, ReadsBackWhatWasWritten) {
  TemporaryFolder folder;
  const auto file = folder.path() / "a.trace";
  TraceWriter writer(file, some_header());
  writer.write(some_sequence());
  writer.write(some_sequence());
  EXPECT_FALSE(std::filesystem::exists(file)) << "before it is finished";
  writer.finish();
  TraceReader reader(file);
  EXPECT_EQ(reader.header().target, some_header().target);
  EXPECT_EQ(reader.header().hidden, 2);
  TraceSequence sequence;
  ASSERT_TRUE(reader.next(sequence));
  EXPECT_EQ(sequence.tokens, some_sequence().tokens);
  const TraceRound& round = sequence.rounds.at(0);
  EXPECT_EQ(round.parents, some_sequence().rounds[0].parents);
  EXPECT_EQ(round.log_probs, some_sequence().rounds[0].log_probs);
  EXPECT_EQ(round.hidden, some_sequence().rounds[0].hidden);
  EXPECT_TRUE(std::isnan(round.entropies[4]));
  EXPECT_EQ(round.verified, 6);
  EXPECT_EQ(round.draft_ms, 1.5f);
  ASSERT_TRUE(reader.next(sequence));
  EXPECT_FALSE(reader.next(sequence));
}

TEST(TraceFile, KeepsTheTargetsProbabilitiesWhereTheHeaderSaysSo) {
  TemporaryFolder folder;
  const auto file = folder.path() / "a.trace";
  TraceHeader header = some_header();
  header.target_probabilities = true;
  TraceSequence sequence = some_sequence();
  sequence.rounds[0].target_log_probs = {NAN, -0.5f, -1.5f, -0.25f, -3.0f, NAN, NAN};
  {
    TraceWriter writer(file, header);
    writer.write(sequence);
    writer.finish();
  }
  TraceReader reader(file);
  EXPECT_TRUE(reader.header().target_probabilities);
  TraceSequence read;
  ASSERT_TRUE(reader.next(read));
  EXPECT_EQ(read.rounds[0].target_log_probs[4], -3.0f);
  EXPECT_TRUE(std::isnan(read.rounds[0].target_log_probs[0]));
  EXPECT_EQ(read.rounds[0].hidden, sequence.rounds[0].hidden);
  sequence.rounds[0].target_log_probs.pop_back();
  TraceWriter writer(file, header);
  writer.write(sequence);
  writer.finish();
  EXPECT_THAT(error_of([&] { read_all(file); }), HasSubstr("differ in length"));
}

TEST(TraceFile, NamesWhatIsWrong) {
  TemporaryFolder folder;
  const auto file = folder.path() / "a.trace";
  TraceWriter writer(file, some_header());
  writer.write(some_sequence());
  writer.finish();
  const std::string good = bytes_of(file);
  const auto broken = folder.path() / "b.trace";
  const auto problem = [&](const std::string& bytes) {
    write_bytes(broken, bytes);
    return error_of([&] { read_all(broken); });
  };
  EXPECT_THAT(problem("something else"), HasSubstr("b.trace: not a file of traces"));
  std::string other = good;
  other[8] = 9;
  EXPECT_THAT(problem(other), HasSubstr("trace format 9: this program reads 1"));
  other = good;
  other[good.size() - 60] ^= 1;
  EXPECT_THAT(problem(other), HasSubstr("sequence 1: is damaged"));
  for (std::size_t size = 8; size < good.size(); ++size) {
    EXPECT_NE(problem(good.substr(0, size)), "no error") << "cut to " << size;
  }
}

TEST(TraceFile, WritesNothingThatNoReaderTakes) {
  TemporaryFolder folder;
  const auto file = folder.path() / "a.trace";
  TraceWriter writer(file, some_header());
  writer.write(some_sequence());
  for (const float bad : {NAN, -INFINITY}) {
    TraceSequence sequence = some_sequence();
    sequence.rounds[0].log_probs[2] = bad;
    EXPECT_THAT(error_of([&] { writer.write(sequence); }),
                HasSubstr("a.trace: sequence 2: a node's log-probability is not finite"));
  }
  writer.finish();
  EXPECT_NO_THROW(read_all(file));
}

TEST(TraceFile, RefusesTreesThatAreNone) {
  TemporaryFolder folder;
  const auto problem = [&](const std::function<void(TraceSequence&)>& spoil) {
    TraceSequence sequence = some_sequence();
    spoil(sequence);
    const auto file = folder.path() / "a.trace";
    TraceWriter writer(file, some_header());
    writer.write(sequence);
    writer.finish();
    return error_of([&] { read_all(file); });
  };
  EXPECT_THAT(problem([](auto& s) { s.rounds[0].parents[3] = 3; }), HasSubstr("precedes its parent"));
  EXPECT_THAT(problem([](auto& s) { s.rounds[0].root = 6; }), HasSubstr("outside the text"));
  EXPECT_THAT(problem([](auto& s) { s.rounds[0].tokens[1] = 100; }), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(problem([](auto& s) { s.rounds[0].entropies.pop_back(); }), HasSubstr("differ in length"));
  EXPECT_THAT(problem([](auto& s) { s.rounds[0].hidden.pop_back(); }), HasSubstr("another width"));
  EXPECT_THAT(problem([](auto& s) { s.rounds[0].stateful[1] = 2; }), HasSubstr("not in order"));
  EXPECT_THAT(problem([](auto& s) { s.tokens[5] = 100; }),
              HasSubstr("of the text lies outside the vocabulary"));
  EXPECT_THAT(problem([](auto& s) { s.prompt_size = 7; }), HasSubstr("longer than the text"));
}

TEST(Recorder, KeepsWholeTreesThatTheTextExplains) {
  testing_support::Stories stories;
  TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.3f);
  const Checkpoint draft = Checkpoint::open(folder.path());
  const auto drafters = find_drafter_type("draft").load({.backend = stories.backend,
                                                         .target = *stories.model,
                                                         .tokenizer = *stories.tokenizer,
                                                         .target_path = "stories",
                                                         .head = &draft,
                                                         .context = 256});
  Recorder recorder(5, true);
  SequenceOptions options;
  options.max_tokens = 40;
  options.speculation.drafters = testing_support::one(
      drafters->make({.context = 256}), std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 3, 12}));
  recorder.attach(options);
  Sequence sequence(*stories.model, stories.prompt("Once upon a time"), std::move(options));
  Decoder decoder(*stories.model);
  Sequence* const batch[] = {&sequence};
  while (!sequence.finished()) decoder.step(batch);
  const std::int64_t calls = sequence.statistics().calls;
  const TraceSequence trace = recorder.finish(sequence);

  // A last round that can only add one token drafts nothing.
  ASSERT_GE(std::ssize(trace.rounds), calls - 1);
  ASSERT_LE(std::ssize(trace.rounds), calls);
  EXPECT_EQ(std::ssize(trace.tokens), static_cast<std::int64_t>(trace.prompt_size) + 40);
  std::vector<NodeLabel> labels;
  std::size_t states = 0;
  std::int32_t expected_root = trace.prompt_size - 1;
  for (std::size_t r = 0; r < trace.rounds.size(); ++r) {
    const TraceRound& round = trace.rounds[r];
    // The text moves on by the accepted nodes and one more token.
    EXPECT_EQ(round.root, expected_root);
    EXPECT_EQ(round.tokens[0], trace.tokens[static_cast<std::size_t>(round.root)]);
    label_nodes(trace, round, labels);
    const std::int32_t next = r + 1 < trace.rounds.size()
                                  ? trace.rounds[r + 1].root
                                  : static_cast<std::int32_t>(trace.tokens.size()) - 1;
    if (round.size() == 37u && r + 1 < trace.rounds.size()) {  // 4 + 2 * 16 candidates
      EXPECT_EQ(round.verified, 12);
      const auto accepted = std::count(labels.begin(), labels.end(), NodeLabel::Accepted) - 1;
      EXPECT_GE(accepted, next - round.root - 1) << "what was accepted is among the candidates";
      for (std::size_t n = 0; n < round.size(); ++n) {
        const bool expanded = std::find(round.parents.begin(), round.parents.end(),
                                        static_cast<std::int32_t>(n)) != round.parents.end();
        EXPECT_EQ(expanded, !std::isnan(round.entropies[n]));
        EXPECT_EQ(expanded, !std::isnan(round.top_entropies[n]));
      }
    }
    for (const std::int32_t node : round.stateful) {
      EXPECT_EQ(labels[static_cast<std::size_t>(round.parents[static_cast<std::size_t>(node)])],
                NodeLabel::Accepted);
      ++states;
    }
    expected_root = next;
  }
  EXPECT_EQ(trace.rounds.front().size(), 37u);
  EXPECT_GT(states, trace.rounds.size());
}

// Beside the logits of single forward passes: what the target says of every candidate whose parent is the
// text's.
TEST(TargetProbabilities, AreThoseOfTheTargetAtTheParents) {
  testing_support::Stories stories;
  TraceSequence sequence;
  sequence.tokens = stories.prompt("Once upon a time there was a cat");
  sequence.prompt_size = 2;
  const auto at = [&](std::size_t place) { return sequence.tokens[place]; };
  TraceRound round;
  round.root = 3;
  // The text's next two tokens, one beside each, and a child of a wrong one.
  round.tokens = {at(3), at(4), 7, at(5), 9, 11};
  round.parents = {-1, 0, 0, 1, 1, 2};
  round.log_probs = {0, -1, -2, -1, -2, -1};
  sequence.rounds = {round};
  add_target_probabilities(*stories.model, sequence);
  const auto log_prob = [&](std::size_t places, TokenId token) {
    KvCache cache = stories.model->make_cache(64);
    const std::vector<TokenId> text(sequence.tokens.begin(),
                                    sequence.tokens.begin() + static_cast<std::ptrdiff_t>(places));
    std::vector<float> logits(static_cast<std::size_t>((stories.model->config().vocab + 15) / 16 * 16));
    PrefillOptions how;
    how.rows_done = [&](std::int64_t, std::span<const float> hidden) {
      const std::int64_t width = stories.model->config().hidden;
      stories.model->logits_of(hidden.data() + std::ssize(hidden) - width, 1, false, logits.data(),
                               std::ssize(logits));
    };
    prefill(*stories.model, text, cache, how);
    return logits[static_cast<std::size_t>(token)] -
           log_sum_exp(logits.data(), stories.model->config().vocab);
  };
  const std::vector<float>& found = sequence.rounds[0].target_log_probs;
  ASSERT_EQ(found.size(), 6u);
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_NEAR(found[1], log_prob(4, at(4)), 1e-4);
  EXPECT_NEAR(found[2], log_prob(4, 7), 1e-4);
  EXPECT_NEAR(found[3], log_prob(5, at(5)), 1e-4);
  EXPECT_NEAR(found[4], log_prob(5, 9), 1e-4);
  EXPECT_TRUE(std::isnan(found[5])) << "its parent is not the text's";
}

}  // namespace
}  // namespace augur
