// The host's locale, rounding mode and treatment of denormal numbers change no id and no grammar, and are as
// they were after each call, and in callbacks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <cfenv>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "augur/session.h"
#include "support/templated_stories.h"
#include "support/temporary_folder.h"

#if defined(__SANITIZE_ADDRESS__)  // gcc
#define AUGUR_FINDS_LEAKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AUGUR_FINDS_LEAKS
#endif
#endif
#ifdef AUGUR_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace augur {
namespace {

using testing::IsSupersetOf;

struct Arithmetic {
  int rounding = FE_TONEAREST;
  bool flushes = false;  ///< denormal numbers are zero, as operands and as results

  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
  static Arithmetic here() {
    Arithmetic now{.rounding = std::fegetround()};
#if defined(__x86_64__)
    now.flushes = (_mm_getcsr() & 0x8040) == 0x8040;
#endif
    return now;
  }
  void set() const {
    std::fesetround(rounding);
#if defined(__x86_64__)
    _mm_setcsr((_mm_getcsr() & ~0x8040u) | (flushes ? 0x8040u : 0u));
#endif
  }
};

/// What the host has, for as long as it lives. After each call all of it is as it was: so says check().
class Host {
 public:
  Host(const Arithmetic& arithmetic, const std::locale& locale)
      : arithmetic_(arithmetic),
        before_(std::locale::global(locale)),
        locale_(std::setlocale(LC_ALL, nullptr)) {
    arithmetic.set();
  }
  ~Host() {
    Arithmetic().set();
    std::locale::global(before_);
    std::setlocale(LC_ALL, "C");
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void check() const {
    const Arithmetic now = Arithmetic::here();
    Arithmetic().set();
    EXPECT_EQ(now, arithmetic_);
    EXPECT_EQ(::uselocale(nullptr), LC_GLOBAL_LOCALE);
    EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale_);
    now.set();
  }

 private:
  const Arithmetic arithmetic_;
  const std::locale before_;
  const std::string locale_;
};

std::string said_by(const Result& result) {
  std::string said = result.error + result.text;
  for (const TokenId id : result.tokens) said += fmt::format(" {}", id);
  for (const TokenLogprobs& token : result.logprobs)
    said += fmt::format(" {:x}", std::bit_cast<std::uint32_t>(token.logprob));
  return said + "\n";
}

std::vector<Request> numeric_requests() {
  std::vector<Request> all(4);
  for (Request& request : all) {
    request.prompt = "Once upon a time I";
    request.max_tokens = 24;
    request.logprobs = 1;
    request.speculation = SpeculationPlan::parse("draft,ngram:p-min=0.05,policy=chain");
  }
  all[1].sampling = {.temperature = 0.9, .top_p = 0.95, .min_p = 0.02, .seed = 7};
  all[2].sampling = all[1].sampling;
  all[2].grammar = Grammar{
      .text =
          R"({"type": "array", "minItems": 3, "items": {"type": "number", "minimum": 0.25, "maximum": 1234.75}})"};
  all[3].grammar = Grammar{.text = R"({"enum": [1.5, 1234567.25, "Ä", "I"]})"};
  return all;
}

/// All that may depend on how numbers are computed, read and written. A session measures costs when it opens,
/// which takes its time: `session` says whether the same requests go through one, too.
std::vector<std::string> everything(const Host* host = nullptr, bool session = true) {
  const auto check = [&] {
    if (host != nullptr) host->check();
  };
  std::vector<std::string> said;
  const testing_support::TemplatedStories stories(
      "{{ bos_token }}{{ 1.5 }} {{ 10 / 4 }} {{ '%.2f' % 2.345 }} {{ '1e-3' | float }} "
      "{% for m in messages %}{{ m.content | title }}{% endfor %}",
      true);
  check();
  Engine& engine = *stories.engine;
  const std::vector<Request> requests = numeric_requests();
  check();
  for (const Request& request : requests) {
    Request watched = request;
    const auto in_callback = [&](auto&&...) { check(); };
    watched.on_prefill = in_callback;
    watched.on_round = in_callback;
    said.push_back(said_by(engine.generate(watched, [&](const TokenEvent&) {
      check();
      return true;
    })));
    check();
  }
  engine.generate_many(requests, 2, [&](std::size_t, const Result& result) {
    check();
    EXPECT_EQ(std::count(said.begin(), said.end(), said_by(result)), 1);
  });
  check();
  const Request chat{.messages = {{.role = "user", .content = "iI ıİ lily"}}};
  said.push_back(engine.render_chat(chat));
  said.push_back(engine.detokenize(engine.tokenize("Lily 1.5 ıI")));
  said.push_back(engine.info().fingerprint);
  check();
  if (session) {
    Session open(engine);
    check();
    std::vector<Ticket> tickets;
    for (const Request& request : requests) tickets.push_back(open.submit(request));
    check();
    for (std::size_t i = 0; i < tickets.size(); ++i) EXPECT_EQ(said_by(tickets[i].wait()), said[i]);
  }
  check();
  return said;
}

const std::vector<std::string>& usual() {
  static const std::vector<std::string> said = everything();
  return said;
}

std::vector<Arithmetic> arithmetics() {
  std::vector<Arithmetic> all;
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const bool flushes : {false, true}) all.push_back({rounding, flushes});
  }
  return all;
}

TEST(Environment, TheUsualOneSaysSomething) {
  ASSERT_EQ(usual().size(), 7u);
  EXPECT_THAT(usual()[2], testing::StartsWith("["));
  EXPECT_THAT(usual()[4], testing::HasSubstr("1.5 2.5 2.35 0.001"));
}

TEST(Environment, ArithmeticOfTheHost) {
  for (const Arithmetic& arithmetic : arithmetics()) {
    const Host host(arithmetic, std::locale::classic());
    EXPECT_EQ(everything(&host, arithmetic.rounding == FE_UPWARD && arithmetic.flushes), usual())
        << arithmetic.rounding << ' ' << arithmetic.flushes;
  }
}

class Punctuation : public std::numpunct<char> {
 public:
  Punctuation(char point, char separator, std::string grouping)
      : point_(point), separator_(separator), grouping_(std::move(grouping)) {}

 protected:
  char do_decimal_point() const override { return point_; }
  char do_thousands_sep() const override { return separator_; }
  std::string do_grouping() const override { return grouping_; }
  std::string do_truename() const override { return "wahr"; }

 private:
  const char point_;
  const char separator_;
  const std::string grouping_;
};

TEST(Environment, LocaleOfItsStreams) {
  const std::pair<char, char> signs[] = {{',', '.'}, {'.', ','}, {'\'', ' '}, {',', '_'}, {';', '\''}};
  for (const auto& [point, separator] : signs) {
    for (const char* const grouping : {"\3", "\1\2"}) {
      const std::locale locale(std::locale::classic(), new Punctuation(point, separator, grouping));
      const Host host({}, locale);
      EXPECT_EQ(everything(&host, point == ','), usual()) << point << separator;
    }
  }
}

/// Makes locales from Debian's sources of them (package locales), which a system need not have.
std::vector<std::string> made_locales(const std::filesystem::path& folder) {
  std::vector<std::string> made;
  for (const char* const name :
       {"de_DE", "fr_FR", "tr_TR", "pl_PL", "ru_RU", "de_CH", "pt_BR", "hi_IN", "fa_IR", "sv_SE"}) {
    const std::string path = folder / fmt::format("{}.UTF-8", name);
    const std::string command =
        fmt::format("localedef --no-archive -c -i {} -f UTF-8 '{}' > /dev/null 2>&1", name, path);
    static_cast<void>(std::system(command.c_str()));  // NOLINT: its exit code tells of warnings, too
    if (std::filesystem::exists(path + "/LC_NUMERIC")) made.push_back(fmt::format("{}.UTF-8", name));
  }
  return made;
}

/// For as long as it lives, the thread's allocations are no leaks: glibc drops a copy of LOCPATH with each
/// locale that it loads.
struct LeaksOfLocales {
#ifdef AUGUR_FINDS_LEAKS
  LeaksOfLocales() {
    __lsan_disable();
  }
  ~LeaksOfLocales() {
    __lsan_enable();
  }
#else
  LeaksOfLocales() = default;
  ~LeaksOfLocales() = default;
#endif
  LeaksOfLocales(const LeaksOfLocales&) = delete;
  LeaksOfLocales& operator=(const LeaksOfLocales&) = delete;
};

TEST(Environment, LocaleOfTheProgram) {
  const testing_support::TemporaryFolder folder;
  const std::vector<std::string> names = made_locales(folder.path());
  if (names.empty()) GTEST_SKIP() << "localedef makes no locale here";
  ASSERT_EQ(names.size(), 10u);
  usual();
  ASSERT_EQ(setenv("LOCPATH", folder.path().c_str(), 1), 0);
  const std::vector<Arithmetic> modes = arithmetics();
  const testing_support::TemplatedStories stories("{{ bos_token }}", true);
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      const auto where = [&] {
        return fmt::format("{} {} {}", names[i], modes[mode].rounding, modes[mode].flushes);
      };
      std::optional<Host> host;
      {
        [[maybe_unused]] const LeaksOfLocales unseen;
        host.emplace(modes[mode], std::locale(names[i]));
      }
      EXPECT_EQ(std::setlocale(LC_NUMERIC, nullptr), names[i]);
      if (mode == i % modes.size()) {
        EXPECT_EQ(everything(&*host, i == 0), usual()) << where();
      }
      const std::vector<Request> all = numeric_requests();
      for (std::size_t r = 0; r < all.size(); ++r)
        EXPECT_EQ(said_by(stories.engine->generate(all[r])), usual()[r]) << where();
    }
  }
  unsetenv("LOCPATH");
}

TEST(Environment, WhatACallbackChangesStaysTheHosts) {
  const testing_support::TemplatedStories stories("{{ bos_token }}");
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 12;
  const std::vector<TokenId> ids = stories.engine->generate(request).tokens;
  const Result result = stories.engine->generate(request, [](const TokenEvent&) {
    Arithmetic{.rounding = FE_UPWARD, .flushes = true}.set();
    return true;
  });
  const int rounding = std::fegetround();
  Arithmetic().set();
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(result.tokens, ids);
  Session session(*stories.engine);
  SubmitOptions options;
  options.on_token = [](const TokenEvent&) {
    Arithmetic{.rounding = FE_DOWNWARD, .flushes = true}.set();
    return true;
  };
  EXPECT_EQ(session.submit(request, std::move(options)).wait().tokens, ids);
  EXPECT_EQ(session.submit(request).wait().tokens, ids);
}

/// What /proc says of each thread of this process: its name, and the signals that it has blocked.
std::vector<std::pair<std::string, unsigned long long>> threads() {
  std::vector<std::pair<std::string, unsigned long long>> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(entry.path() / "status");
    std::pair<std::string, unsigned long long> thread;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:\t")) thread.first = line.substr(6);
      if (line.starts_with("SigBlk:\t")) thread.second = std::stoull(line.substr(8), nullptr, 16);
    }
    all.push_back(std::move(thread));
  }
  return all;
}

TEST(Environment, ThreadsHaveNamesAndLeaveSignalsToTheHost) {
  [[maybe_unused]] const auto before = threads().size();
  const testing_support::TemplatedStories stories("{{ bos_token }}");
  Session session(*stories.engine);
  Request request;
  request.prompt = "Once";
  request.max_tokens = 4;
  request.grammar = Grammar{.text = "{}"};
  session.submit(request).wait();
  std::set<std::string> names;
  for (const auto& [name, blocked] : threads()) {
    if (!name.starts_with("augur-")) continue;
    names.insert(name);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM})
      EXPECT_TRUE((blocked >> (signal - 1)) & 1) << name << ": " << signal;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE})
      EXPECT_FALSE((blocked >> (signal - 1)) & 1) << name << ": " << signal;
  }
  EXPECT_THAT(names, IsSupersetOf({"augur-team", "augur-session", "augur-grammar"}));
#ifndef __SANITIZE_THREAD__  // which makes a thread of its own with the first of ours
  EXPECT_EQ(threads().size() - before, 3u) << "each thread has a name";
#endif
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_FALSE(sigismember(&mine, SIGTERM)) << "the caller's mask is as it was";
}

}  // namespace
}  // namespace augur
