#include "hub/fetch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "hub/http_client.h"
#include "support/error_of.h"
#include "support/eventually.h"
#include "support/fake_hub.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::error_of;
using testing_support::FakeHub;
using Answer = FakeHub::Answer;
using Request = FakeHub::Request;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_content(const Request& request) {
  return request.path.find("/resolve/") != std::string::npos;
}

std::string text_of(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

class FetchModel : public testing::Test {
 protected:
  FetchModel() {
    hub_.add("README.md", "text", false);
    hub_.add("m-Q4_K_M.gguf", content_);
    hub_.add("m-Q8_0.gguf", text_of(500));
    settings_.endpoint = hub_.url();
    settings_.cache = folder_.path() / "hub";
    settings_.attempts = 3;
    settings_.wait_seconds = 0.01;
    settings_.connect_seconds = 5;
    settings_.stall_seconds = 5;
    hooks_.progress = [this](std::string_view what, double fraction) {
      EXPECT_FALSE(what.empty());
      EXPECT_GE(fraction, 0);
      EXPECT_LE(fraction, 1);
      fraction_ = fraction;
    };
    hooks_.warning = [this](std::string_view text) { warnings_.emplace_back(text); };
  }

  fs::path fetch(const std::string& model = "owner/name", const std::string& file = "") {
    HubModel wanted = HubModel::parse(model);
    wanted.file = file;
    return fetch_model(wanted, settings_, hooks_);
  }
  std::string error(const std::string& model = "owner/name") {
    return error_of([&] { fetch(model); });
  }
  fs::path repository() const { return settings_.cache / "models--owner--name"; }
  fs::path snapshot() const { return repository() / "snapshots" / FakeHub::kCommit; }
  fs::path blob() { return repository() / "blobs" / hub_.large_hash("m-Q4_K_M.gguf"); }
  fs::path incomplete() { return blob().string() + ".incomplete"; }
  void put(const fs::path& path, const std::string& text) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  /// Answers every request for content with what `change` makes of the usual answer.
  template <class Change>
  void change_contents(Change change) {
    hub_.answer_by([change](const Request& request, const Answer& usual) -> std::optional<Answer> {
      if (!is_content(request)) return std::nullopt;
      Answer answer = usual;
      change(answer);
      return answer;
    });
  }

  const std::string content_ = text_of(300'000);
  testing_support::TemporaryFolder folder_;
  FakeHub hub_;
  HubSettings settings_;
  FetchHooks hooks_;
  double fraction_ = -1;
  std::vector<std::string> warnings_;
};

TEST_F(FetchModel, PutsItWhereTheHubsToolsDo) {
  const fs::path path = fetch();
  EXPECT_EQ(path, snapshot() / "m-Q4_K_M.gguf");
  EXPECT_EQ(read_file(path), content_);
  EXPECT_EQ(fs::read_symlink(path), "../../blobs/" + hub_.large_hash("m-Q4_K_M.gguf"));
  EXPECT_EQ(read_file(repository() / "refs" / "main"), FakeHub::kCommit);
  EXPECT_TRUE(fs::exists(settings_.cache / ".locks" / "models--owner--name" /
                         (hub_.large_hash("m-Q4_K_M.gguf") + ".lock")));
  EXPECT_EQ(fraction_, 1);
  EXPECT_EQ(hub_.downloads(), 1u);
  EXPECT_EQ(fetch(), path);  // which is here
  EXPECT_EQ(hub_.downloads(), 1u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(FetchModel, TheQuantChooses) {
  EXPECT_EQ(fetch("owner/name:Q8_0"), snapshot() / "m-Q8_0.gguf");
  EXPECT_EQ(read_file(fetch("owner/name", "README.md")), "text");
  EXPECT_THAT(error("owner/name:Q2_K"),
              HasSubstr("owner/name: has no GGUF file of Q2_K; it has m-Q4_K_M.gguf"));
}

TEST_F(FetchModel, PartsAndFoldersComeInWhole) {
  hub_.add("big-Q5_K-00001-of-00002.gguf", "one");
  hub_.add("big-Q5_K-00002-of-00002.gguf", "two");
  EXPECT_EQ(fetch("owner/name:Q5_K"), snapshot() / "big-Q5_K-00001-of-00002.gguf");
  EXPECT_EQ(read_file(snapshot() / "big-Q5_K-00002-of-00002.gguf"), "two");
}

TEST_F(FetchModel, AFolderComesInWhole) {
  FakeHub folder;
  folder.add("config.json", "{}", false);
  folder.add("tokenizer.json", "{ }", false);
  folder.add("model.safetensors", "weights");
  folder.add("original/weights.pth", "others");
  folder.add("empty/config.json", "", false);
  settings_.endpoint = folder.url();
  EXPECT_EQ(fetch(), snapshot());
  EXPECT_EQ(read_file(snapshot() / "model.safetensors"), "weights");
  EXPECT_EQ(read_file(snapshot() / "config.json"), "{}");
  EXPECT_FALSE(fs::exists(snapshot() / "original"));
  EXPECT_EQ(folder.downloads(), 3u);
  settings_.endpoint = hub_.url();
  EXPECT_EQ(fetch("owner/name", "README.md"), snapshot() / "README.md");
}

TEST_F(FetchModel, NamesAreWrittenAsUrlsHaveThem) {
  hub_.add("a b#?.gguf", "odd");
  hub_.answer_by([](const Request& request, const Answer&) -> std::optional<Answer> {
    if (request.path.ends_with("/a%20b%23%3F.gguf")) return Answer{.body = "odd"};
    return std::nullopt;
  });
  EXPECT_EQ(read_file(fetch("owner/name", "a b#?.gguf")), "odd");
}

TEST_F(FetchModel, GoesOnWhereAConnectionWasCut) {
  change_contents([](Answer& answer) { answer.most = 130'000; });
  EXPECT_EQ(read_file(fetch()), content_);
  std::vector<std::uint64_t> from;
  for (const Request& request : hub_.requests()) {
    if (is_content(request)) from.push_back(request.from);
  }
  EXPECT_THAT(from, ElementsAre(0, 130'000, 260'000));
}

TEST_F(FetchModel, WhatCameIsKeptForTheNextTime) {
  change_contents([](Answer& answer) { answer.most = 1000; });
  EXPECT_THAT(error(), AllOf(HasSubstr("owner/name: m-Q4_K_M.gguf"),
                             HasSubstr("3000 of 300000 bytes that came are kept")));
  EXPECT_EQ(read_file(incomplete()), content_.substr(0, 3000));
  EXPECT_FALSE(fs::exists(repository() / "refs" / "main"));
  hub_.answer_by(nullptr);
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_EQ(hub_.requests().back().from, 3000u);
  EXPECT_FALSE(fs::exists(incomplete()));
}

TEST_F(FetchModel, AServerWithoutRangesBeginsAnew) {
  put(incomplete(), content_.substr(0, 1000));
  hub_.answer_by([&](const Request& request, const Answer&) -> std::optional<Answer> {
    if (is_content(request)) return Answer{.body = content_};
    return std::nullopt;
  });
  EXPECT_EQ(read_file(fetch()), content_);
}

TEST_F(FetchModel, WhatWasThereOfAnotherFileIsDropped) {
  put(incomplete(), std::string(1000, 'x'));
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_EQ(hub_.downloads(), 2u);
  fs::remove_all(settings_.cache);
  put(incomplete(), std::string(400'000, 'x'));  // longer than the file
  EXPECT_EQ(read_file(fetch()), content_);
  fs::remove_all(settings_.cache);
  put(incomplete(), content_);  // all that was missing is its name
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_EQ(hub_.downloads(), 3u);
}

TEST_F(FetchModel, AWrongHashIsNamedAndNothingIsLeft) {
  change_contents([](Answer& answer) { answer.body[5] ^= 1; });
  EXPECT_THAT(error(), AllOf(HasSubstr("owner/name: m-Q4_K_M.gguf: what came has the hash"),
                             HasSubstr("the hub lists " + hub_.large_hash("m-Q4_K_M.gguf"))));
  EXPECT_FALSE(fs::exists(incomplete()));
  EXPECT_FALSE(fs::exists(blob()));
  EXPECT_FALSE(fs::exists(snapshot() / "m-Q4_K_M.gguf"));
}

TEST_F(FetchModel, AWrongLengthIsNamed) {
  change_contents([](Answer& answer) { answer.body += "more"; });
  EXPECT_THAT(error(), HasSubstr("m-Q4_K_M.gguf: is of 300004 bytes, the hub lists 300000"));
  change_contents([](Answer& answer) { answer.body.pop_back(); });
  EXPECT_THAT(error(), HasSubstr("m-Q4_K_M.gguf: is of 299999 bytes, the hub lists 300000"));
  put(incomplete(), content_.substr(0, 10));
  change_contents([](Answer& answer) { answer.headers = {"Content-Range: bytes 11-299999/300000"}; });
  EXPECT_THAT(error(), HasSubstr("bytes from 10 were asked for"));
  EXPECT_EQ(read_file(incomplete()), content_.substr(0, 10));
}

TEST_F(FetchModel, AHubThatDoesNotSayHowMuchItSends) {
  change_contents([](Answer& answer) {
    answer.says_length = false;
    answer.most = 170'000;
    std::erase_if(answer.headers,
                  [](const std::string& header) { return header.starts_with("Content-Range"); });
    answer.headers.emplace_back(
        fmt::format("Content-Range: bytes {}-299999/*", 300'000 - answer.body.size()));
  });
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_EQ(hub_.downloads(), 2u);
  fs::remove_all(settings_.cache);
  change_contents([](Answer& answer) {
    answer.says_length = false;
    answer.body += "x";
  });
  EXPECT_THAT(error(), HasSubstr("m-Q4_K_M.gguf: more than the 300000 bytes that the hub lists came"));
}

TEST_F(FetchModel, NoRoomIsSaidBeforeAByteComes) {
  hub_.entry("m-Q4_K_M.gguf")["lfs"]["size"] = std::int64_t{1} << 49;
  EXPECT_THAT(error(),
              AllOf(HasSubstr("m-Q4_K_M.gguf takes 562949.95 GB more"), HasSubstr("the disk has room for")));
  EXPECT_EQ(hub_.downloads(), 0u);
}

/// As long as it lives a file of this process has at most so many bytes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(FetchModel, ADiskThatFillsUpIsNamed) {
  {
    const FileSizeLimit limit(100'000);
    EXPECT_THAT(error(), AllOf(HasSubstr(".incomplete: cannot be written"), HasSubstr("File too large")));
  }
  EXPECT_EQ(read_file(incomplete()).size(), 100'000u);
  EXPECT_EQ(read_file(fetch()), content_);
}

TEST_F(FetchModel, WhoMayNotReadIsTold) {
  for (const int status : {401, 403, 404}) {
    hub_.answer_by([status](const Request&, const Answer&) {
      return Answer{.status = status, .headers = {"X-Error-Message: Access to \x1b[31mmodel is restricted"}};
    });
    EXPECT_THAT(error(), AllOf(HasSubstr(fmt::format("answers {}", status)), HasSubstr("is restricted"),
                               HasSubstr("--hf-token or HF_TOKEN"), testing::Not(HasSubstr("\x1b"))));
  }
  settings_.token = "hf_mine";
  EXPECT_THAT(error(), HasSubstr("the token that was given does not do"));
  EXPECT_THAT(error(), testing::Not(HasSubstr("hf_mine")));
  EXPECT_EQ(hub_.requests().back().header("Authorization"), "Bearer hf_mine");
  hub_.answer_by([&](const Request& request, const Answer&) -> std::optional<Answer> {
    if (!is_content(request)) return std::nullopt;
    return Answer{.status = 403};  // a gated repository: its list is everybody's
  });
  EXPECT_THAT(error(), HasSubstr("owner/name: m-Q4_K_M.gguf"));
  hub_.answer_by([&](const Request&, const Answer&) { return Answer{.status = 410}; });
  EXPECT_THAT(error(), HasSubstr("answers 410"));
}

TEST_F(FetchModel, ABusyHubIsAskedAgain) {
  std::atomic<int> asked{0};
  hub_.answer_by([&](const Request&, const Answer&) -> std::optional<Answer> {
    const int now = ++asked;
    if (now == 1) return Answer{.status = 503};
    if (now == 2) return Answer{.status = 429, .headers = {"Retry-After: 0"}};
    if (now == 4) return Answer{.status = 500};
    if (now == 5) return Answer{.status = 429, .headers = {"Retry-After: 0"}};
    return std::nullopt;
  });
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_EQ(asked, 6);
  hub_.answer_by([&](const Request&, const Answer&) { return Answer{.status = 503}; });
  fs::remove_all(settings_.cache);
  EXPECT_THAT(error(), HasSubstr("answers 503"));
}

TEST_F(FetchModel, RedirectionsAreFollowedAndTheTokenStays) {
  FakeHub elsewhere;  // another host, as contents' stores are
  elsewhere.answer_by([&](const Request&, const Answer&) { return Answer{.body = content_}; });
  const std::string other = "http://localhost" + elsewhere.url().substr(elsewhere.url().rfind(':'));
  hub_.answer_by([&](const Request& request, const Answer&) -> std::optional<Answer> {
    if (!is_content(request)) return std::nullopt;
    return Answer{.status = 302,
                  .headers = {"Location: " + other + "/store", "X-Linked-Size: 300000"},
                  .body = "see there"};
  });
  settings_.token = "hf_mine";
  EXPECT_EQ(read_file(fetch()), content_);
  ASSERT_EQ(elsewhere.requests().size(), 1u);
  EXPECT_EQ(elsewhere.requests()[0].path, "/store");
  EXPECT_EQ(elsewhere.requests()[0].header("Authorization"), "");
}

TEST_F(FetchModel, RedirectionsThatGoOnOrElsewhereAreRefused) {
  hub_.answer_by([&](const Request& request, const Answer&) {
    return Answer{.status = 302, .headers = {"Location: " + request.path}};
  });
  EXPECT_THAT(error(), HasSubstr("redirects"));
  EXPECT_LT(hub_.requests().size(), 12u);
  put(folder_.path() / "secret", "secret");
  hub_.answer_by([&](const Request&, const Answer&) {
    return Answer{.status = 302, .headers = {"Location: file://" + (folder_.path() / "secret").string()}};
  });
  EXPECT_THAT(error(), HasSubstr("rotocol"));
}

TEST_F(FetchModel, GarbageIsRefused) {
  const auto answered = [&](const std::string& body) {
    hub_.answer_by([body](const Request&, const Answer&) { return Answer{.body = body}; });
    return error();
  };
  EXPECT_THAT(answered("<html>Log in to the network</html>"),
              HasSubstr("/api/models/owner/name/revision/main"));
  EXPECT_THAT(answered("{}"), HasSubstr("sha: expected a commit"));
  hub_.answer_by(nullptr);
  hub_.add("../../../../escaped", "x");
  EXPECT_THAT(error(), HasSubstr("\"../../../../escaped\" is no path inside the repository"));
  EXPECT_FALSE(fs::exists(settings_.cache));
}

TEST_F(FetchModel, AnEndlessListIsRefused) {
  hub_.answer_by(
      [](const Request&, const Answer&) { return Answer{.body = std::string(std::size_t{65} << 20, ' ')}; });
  EXPECT_THAT(error(), HasSubstr("answers more than 67108864 bytes"));
}

TEST_F(FetchModel, AHubThatStallsIsGivenUp) {
  settings_.stall_seconds = 0.2;
  settings_.attempts = 1;
  change_contents([](Answer& answer) { answer.held = true; });
  EXPECT_THAT(error(), HasSubstr("150000 of 300000 bytes that came are kept"));
}

TEST_F(FetchModel, ASlowHubIsWaitedFor) {
  change_contents([](Answer& answer) { answer.held = true; });
  hooks_.progress = [&](std::string_view, double fraction) {
    if (fraction == 0.5) hub_.release();
  };
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_EQ(hub_.downloads(), 1u);
}

TEST_F(FetchModel, StopsWhenAskedAndGoesOnLater) {
  std::atomic<bool> stop{false};
  hooks_.stop = &stop;
  change_contents([](Answer& answer) { answer.held = true; });
  hooks_.progress = [&](std::string_view, double fraction) {
    if (fraction == 0.5) stop = true;
  };
  EXPECT_THROW(fetch(), HubStopped);
  EXPECT_EQ(read_file(incomplete()), content_.substr(0, 150'000));
  stop = false;
  hooks_.progress = nullptr;
  hub_.answer_by(nullptr);
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_EQ(hub_.requests().back().from, 150'000u);
  stop = true;
  EXPECT_THROW(fetch(), HubStopped);
}

TEST_F(FetchModel, OfflineAsksNobody) {
  settings_.offline = true;
  EXPECT_THAT(error(), AllOf(HasSubstr("owner/name: is not in the cache"), HasSubstr("models--owner--name"),
                             HasSubstr("--offline")));
  settings_.offline = false;
  fetch();
  settings_.offline = true;
  const std::size_t before = hub_.requests().size();
  EXPECT_EQ(read_file(fetch()), content_);
  EXPECT_THAT(error("owner/name:Q8_0"),
              AllOf(HasSubstr("in the cache"), HasSubstr("has no GGUF file of Q8_0")));
  fs::remove(blob());  // its link leads nowhere
  EXPECT_THAT(error(), HasSubstr("is not in the cache"));
  put(repository() / "refs" / "main", "../../../../../tmp/0123456789012345678901234567890");
  EXPECT_THAT(error(), HasSubstr("is not in the cache"));
  EXPECT_EQ(hub_.requests().size(), before);
}

TEST_F(FetchModel, AHubThatIsAwayLeavesWhatTheCacheHas) {
  settings_.attempts = 1;
  const std::string there = settings_.endpoint;
  settings_.endpoint = "http://127.0.0.1:1";
  EXPECT_THAT(error(), AllOf(HasSubstr("is not in the cache"), HasSubstr("127.0.0.1")));
  settings_.endpoint = there;
  const fs::path path = fetch();
  settings_.endpoint = "http://127.0.0.1:1";
  EXPECT_EQ(fetch(), path);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("owner/name is as the cache has it"));
}

TEST_F(FetchModel, ABlobOfTheWrongSizeIsFetchedAnew) {
  put(blob(), "half");
  EXPECT_EQ(read_file(fetch()), content_);
  fs::remove(blob());
  EXPECT_EQ(read_file(fetch()), content_);
  fs::remove(snapshot() / "m-Q4_K_M.gguf");
  EXPECT_EQ(read_file(fetch()), content_);  // the blob is there
  EXPECT_EQ(hub_.downloads(), 2u);
}

TEST_F(FetchModel, WhatIsNoFileIsLeftAlone) {
  const fs::path outside = folder_.path() / "outside";
  put(outside, "mine");
  fs::create_directories(incomplete().parent_path());
  fs::create_symlink(outside, incomplete());
  EXPECT_THAT(error(), HasSubstr(".incomplete: cannot be written"));
  EXPECT_EQ(read_file(outside), "mine");
  fs::remove(incomplete());
  ASSERT_EQ(::mkfifo(incomplete().c_str(), 0600), 0);
  EXPECT_THAT(error(), HasSubstr(".incomplete: expected a regular file"));
}

TEST_F(FetchModel, APlaceForIsNeeded) {
  settings_.cache.clear();
  EXPECT_THAT(error(), HasSubstr("expected HF_HUB_CACHE, HF_HOME or HOME"));
  put(folder_.path() / "file", "");
  settings_.cache = folder_.path() / "file" / "hub";
  EXPECT_THAT(error(), HasSubstr("cannot be made"));
}

TEST_F(FetchModel, OneFetchesTheOthersWait) {
  change_contents([](Answer& answer) { answer.held = true; });
  std::mutex mutex;
  std::set<std::thread::id> waiting;
  hooks_.progress = [&](std::string_view what, double) {
    const std::lock_guard lock(mutex);
    if (what.find("another process") != std::string_view::npos) waiting.insert(std::this_thread::get_id());
    if (waiting.size() == 3) hub_.release();
  };
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { right += read_file(fetch()) == content_ ? 1 : 0; });
  }
  threads.clear();
  EXPECT_EQ(right, 4);
  EXPECT_EQ(hub_.downloads(), 1u);
}

TEST_F(FetchModel, WhoWaitsForAnotherCanBeStopped) {
  fetch();
  const fs::path lock =
      settings_.cache / ".locks" / "models--owner--name" / (hub_.large_hash("m-Q4_K_M.gguf") + ".lock");
  fs::remove(snapshot() / "m-Q4_K_M.gguf");
  const int held = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  std::atomic<bool> stop{false};
  hooks_.stop = &stop;
  hooks_.progress = [&](std::string_view what, double) {
    if (what.find("another process") != std::string_view::npos) stop = true;
  };
  EXPECT_THROW(fetch(), HubStopped);
  ::close(held);
}

}  // namespace
}  // namespace augur
