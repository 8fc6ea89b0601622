#include "lab/suite/peers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "lab/suite/peer_server.h"
#include "support/error_of.h"
#include "support/eventually.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;
using testing_support::poll_until;

std::vector<Method> read(const std::string& text) {
  std::istringstream in(text);
  return read_peers(in, "peers.txt");
}

/// tests/fake_peer; `arguments` say how it misbehaves.
Method fake(const std::string& arguments = "") {
  return read("fake: exec " AUGUR_FAKE_PEER " " + arguments).front();
}

const SuitePrompt kPrompt = {"a", "", {"one two", "three"}};
const SuiteRequest kHow = {.max_tokens = 7, .chat = true, .system = "Be brief."};

TEST(ReadPeers, NamesAndCommands) {
  const auto peers = read("# others\n\nfirst: run $MODEL \\\n  --port $PORT\n second :x:y\n");
  ASSERT_EQ(peers.size(), 2U);
  EXPECT_EQ(peers[0].label, "first");
  EXPECT_THAT(peers[0].server, testing::MatchesRegex("run \\$MODEL +--port \\$PORT"));
  EXPECT_EQ(peers[1].label, "second");
  EXPECT_EQ(peers[1].server, "x:y");
  EXPECT_TRUE(peers[0].peer());
  EXPECT_FALSE(peers[0].plain());
}

TEST(ReadPeers, RefusesWhatIsNone) {
  EXPECT_THAT(error_of([] { read("a: x\nnonsense\n"); }),
              HasSubstr("peers.txt line 2: expected NAME: COMMAND"));
  EXPECT_THAT(error_of([] { read("a:\n"); }), HasSubstr("line 1"));
  EXPECT_THAT(error_of([] { read("a: x\na: y\n"); }), HasSubstr("line 2: a second peer named a"));
  EXPECT_THAT(error_of([] { read("# nobody\n"); }), HasSubstr("names no peer"));
  EXPECT_THAT(error_of([] { read_peers("no/such/file"); }), HasSubstr("no/such/file"));
}

TEST(FindPeers, LlamaCppIsPartOfTheProgram) {
  const auto labels = [](bool has_draft) {
    std::vector<std::string> names;
    for (const Method& peer : find_peers("llama.cpp", has_draft)) names.push_back(peer.label);
    return names;
  };
  EXPECT_THAT(labels(false), testing::ElementsAre("llama.cpp", "llama.cpp ngram"));
  EXPECT_THAT(labels(true),
              testing::ElementsAre("llama.cpp", "llama.cpp ngram", "llama.cpp draft-3", "llama.cpp draft-8"));
  EXPECT_THAT(find_peers("llama.cpp", false)[0].server, HasSubstr("llama-server -m \"$MODEL\""));
}

TEST(FindPeers, AFileThatAsksForADraftModelNeedsOne) {
  const testing_support::TemporaryFolder folder;
  const std::string file = (folder.path() / "peers.txt").string();
  std::ofstream(file) << "one: run $PORT\ntwo: run -md ${DRAFT} $PORT\n";
  EXPECT_EQ(find_peers(file, true).size(), 2U);
  EXPECT_THAT(error_of([&] { find_peers(file, false); }), HasSubstr("two is started with $DRAFT"));
}

TEST(PeerServers, TheirCommandsGetTheSettings) {
  PeerServers servers({.model = "the model", .draft = "the draft", .threads = 3, .parallel = 16});
  Cell cell;
  const Method peer = read("env: echo $MODEL, $DRAFT, $THREADS, $PARALLEL, $((PORT > 0)); exit 1").front();
  EXPECT_THAT(error_of([&] { servers.run(peer, kPrompt, kHow, nullptr, cell); }),
              HasSubstr("the model, the draft, 3, 16, 1"));
}

TEST(PeerServers, AConversationIsSentWithTheServersOwnAnswers) {
  PeerServers servers({.model = "the model", .threads = 3});
  Cell cell;
  ASSERT_TRUE(servers.run(fake(), kPrompt, kHow, nullptr, cell));
  // The server counts the words it is sent, and answers with as many tokens as it is allowed: 7.
  EXPECT_EQ(cell.tokens, 14);
  EXPECT_EQ(cell.prompt_tokens, (2 + 2) + (2 + 2 + 7 + 1));
  EXPECT_DOUBLE_EQ(cell.decode_ms, 2 * 70.0);
  EXPECT_EQ(cell.speculation.drafted_tokens, 2 * 6);
  EXPECT_EQ(cell.speculation.accepted_tokens, 2 * 4);
  EXPECT_EQ(cell.speculation.calls, 14 - 8);
  EXPECT_EQ(cell.speculation.verified_tokens, 14 - 8 + 12);
  EXPECT_EQ(cell.output, "") << "ids aren't known";
}

TEST(PeerServers, NothingOfTheSamplingIsLeftToTheirDefaults) {
  PeerServers servers({.model = "the model", .threads = 3});
  Cell cell;
  EXPECT_TRUE(servers.run(fake("--own-defaults-count"), kPrompt, kHow, nullptr, cell));
}

TEST(PeerServers, WithoutAChatTurnsAndAnswersFollowOneAnother) {
  PeerServers servers({.model = "the model", .threads = 3});
  Cell cell;
  SuiteRequest how = kHow;
  how.chat = false;
  how.system.clear();
  ASSERT_TRUE(servers.run(fake(), kPrompt, how, nullptr, cell));
  EXPECT_EQ(cell.tokens, 14);
  EXPECT_EQ(cell.prompt_tokens, 2 + (1 + 7 + 1)) << "the answer goes on with the last word";
  EXPECT_THAT(error_of([&] { servers.run(fake("--nonsense"), kPrompt, how, nullptr, cell); }),
              HasSubstr("OpenAI's completions API"));
}

TEST(PeerServers, WithoutTimingsTheRequestsTimeCounts) {
  PeerServers servers({.model = "m"});
  Cell cell;
  ASSERT_TRUE(servers.run(fake("--no-timings"), kPrompt, kHow, nullptr, cell));
  EXPECT_EQ(cell.tokens, 14);
  EXPECT_GT(cell.decode_ms, 0);
  EXPECT_EQ(cell.speculation.calls, 0);
}

/// Whether its server is gone, after a while: a stopped one answers nothing, but its port is taken.
bool goes(const std::string& url) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  return poll_until([&] {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool taken = ::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(client);
    return !taken;
  });
}

TEST(PeerServers, EndWithTheProgramHoweverItEnds) {
  for (const bool awake : {false, true}) {
    int said[2];
    ASSERT_EQ(::pipe2(said, O_CLOEXEC), 0);
    const pid_t program = ::fork();
    if (program == 0) {
      const PeerServer server("fake", "exec " AUGUR_FAKE_PEER, {.model = "the model"}, nullptr);
      const auto works = awake ? std::make_unique<PeerServer::Awake>(server) : nullptr;
      const std::string url = server.url() + "\n";
      [[maybe_unused]] const auto written = ::write(said[1], url.data(), url.size());
      ::kill(::getpid(), SIGKILL);
    }
    ::close(said[1]);
    char url[64] = {};
    ASSERT_GT(::read(said[0], url, sizeof(url) - 1), 0);
    ::close(said[0]);
    ASSERT_EQ(::waitpid(program, nullptr, 0), program);
    EXPECT_TRUE(goes(url)) << (awake ? "awake" : "stopped");
  }
}

TEST(PeerServers, ErrorsNameThePeerAndShowWhatItSaid) {
  Cell cell;
  PeerServers servers({.model = "m"});
  const auto ask = [&](const Method& peer) {
    return error_of([&] { servers.run(peer, kPrompt, kHow, nullptr, cell); });
  };
  EXPECT_THAT(ask(read("gone: echo out of luck; exit 3").front()),
              testing::AllOf(HasSubstr("gone: its server ended"), HasSubstr("out of luck")));
  EXPECT_THAT(ask(fake("--refuse")),
              testing::AllOf(HasSubstr("fake"), HasSubstr("status 500"), HasSubstr("no room")));
  EXPECT_THAT(ask(fake("--nonsense")), HasSubstr("fake: not an answer in the form of OpenAI's chat API"));
  EXPECT_THAT(ask(fake("--die")), HasSubstr("fake: POST /v1/chat/completions"));
}

}  // namespace
}  // namespace augur
