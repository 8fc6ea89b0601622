#include "server/tenants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/error_of.h"
#include "support/raw_client.h"
#include "support/server_fixture.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const KeyRing kOpen({});

HttpRequest from(const std::string& address, std::vector<std::string> forwarded = {},
                 const std::string& key = {}) {
  HttpRequest request{
      .method = "POST", .path = "/v1/completions", .body = {}, .client = address, .headers = {}};
  for (std::string& value : forwarded) request.headers.emplace_back("x-forwarded-for", std::move(value));
  if (!key.empty()) request.headers.emplace_back("authorization", "Bearer " + key);
  return request;
}

TEST(Callers, WithoutKeysTheAddressIsTheClientWhateverABearerSays) {
  const Tenants tenants({}, kOpen);
  const Caller one = tenants.caller(from("192.0.2.1", {}, "x"));
  EXPECT_EQ(one.client, tenants.caller(from("192.0.2.1", {}, "y")).client);
  EXPECT_EQ(one.client, tenants.caller(from("::ffff:192.0.2.1")).client);
  EXPECT_NE(one.client, tenants.caller(from("192.0.2.2", {}, "x")).client);
  EXPECT_EQ(one.tenant, "");
  EXPECT_EQ(tenants.caller(from("2001:db8:1:2::5")).client, tenants.caller(from("2001:db8:1:2:3::9")).client)
      << "whoever has one has 2^64 of them";
  EXPECT_NE(tenants.caller(from("2001:db8:1:2::5")).client, tenants.caller(from("2001:db8:1:3::5")).client);
  EXPECT_EQ(tenants.caller(from("")).client, "");
}

TEST(Callers, WithKeysTheKeyIsClientAndTenant) {
  const KeyRing keys({.lines = {"one", "two"}});
  const Tenants tenants({}, keys);
  const Caller one = tenants.caller(from("192.0.2.1", {}, "one"));
  EXPECT_EQ(one.client, tenants.caller(from("192.0.2.9", {}, "one")).client);
  EXPECT_NE(one.client, tenants.caller(from("192.0.2.1", {}, "two")).client);
  EXPECT_EQ(one.tenant, one.account);
  EXPECT_THAT(one.account, Not(HasSubstr("one")));
  HttpRequest anthropic = from("192.0.2.1");
  anthropic.headers.emplace_back("x-api-key", "one");
  EXPECT_EQ(tenants.caller(anthropic).tenant, one.tenant);
  const Tenants sharing({.share_prefixes = true, .trusted_proxies = {}}, keys);
  EXPECT_EQ(sharing.caller(from("", {}, "one")).tenant, "");
  EXPECT_NE(sharing.caller(from("", {}, "one")).client, sharing.caller(from("", {}, "two")).client);
}

TEST(Callers, OnlyTrustedProxiesAreBelievedFromTheRight) {
  const Tenants tenants({.trusted_proxies = {"10.0.0.0/8", "fd00::/8", "192.0.2.7"}}, kOpen);
  const auto address = [&](const std::string& peer, std::vector<std::string> forwarded) {
    return tenants.caller(from(peer, std::move(forwarded))).address;
  };
  EXPECT_EQ(address("10.1.2.3", {"198.51.100.1"}), "198.51.100.1");
  EXPECT_EQ(address("10.1.2.3", {"203.0.113.5, 198.51.100.1"}), "198.51.100.1")
      << "the left is anybody's word";
  EXPECT_EQ(address("10.1.2.3", {"203.0.113.5, 198.51.100.1, 10.9.9.9"}), "198.51.100.1");
  EXPECT_EQ(address("10.1.2.3", {"198.51.100.1", "192.0.2.7,10.9.9.9"}), "198.51.100.1") << "in two headers";
  EXPECT_EQ(address("10.1.2.3", {"10.4.4.4"}), "10.4.4.4") << "all are ours";
  EXPECT_EQ(address("10.1.2.3", {}), "10.1.2.3");
  EXPECT_EQ(address("198.51.100.9", {"10.1.1.1"}), "198.51.100.9") << "it is not one of ours";
  EXPECT_EQ(address("10.1.2.3", {"198.51.100.1, nonsense"}), "10.1.2.3");
  EXPECT_EQ(address("10.1.2.3", {"198.51.100.1:4711"}), "198.51.100.1");
  EXPECT_EQ(address("fd00::1", {"[2001:db8::1]:80"}), "2001:db8::1");
  EXPECT_EQ(address("::ffff:10.1.2.3", {"2001:db8::1"}), "2001:db8::1");
  EXPECT_EQ(address("192.0.2.8", {"198.51.100.1"}), "192.0.2.8");
  EXPECT_EQ(address("10.1.2.3", {" , ,"}), "10.1.2.3");
  EXPECT_EQ(address("", {"198.51.100.1"}), "") << "a socket is not trusted unless it is said";
  const Tenants sockets({.trusted_proxies = {"unix"}}, kOpen);
  EXPECT_EQ(sockets.caller(from("", {"198.51.100.1"})).address, "198.51.100.1");
}

TEST(Callers, WhatIsNoNetworkIsNamed) {
  for (const char* text : {"", "10.0.0.0/33", "proxy.example.org", "10.0.0", "fd00::/129", "10.0.0.1/x"}) {
    EXPECT_THAT(testing_support::error_of([&] { Tenants({.trusted_proxies = {text}}, kOpen); }),
                HasSubstr("trusted proxy '" + std::string(text) + "'"));
  }
}

/// A server that begins anew, and two clients of it that have keys.
class TwoKeys : public testing_support::StoriesEngineTest {
 protected:
  struct Server {
    explicit Server(ServiceOptions options, const SessionOptions& session = {.parallel = 4})
        : service(std::move(options)) {
      engine_->forget();
      service.open(*engine_, session);
    }
    ~Server() { service.drain(); }
    httplib::Result ask(const std::string& key, const std::string& path, const json& body) {
      httplib::Client client("127.0.0.1", http.port());
      return client.Post(path, {{"Authorization", "Bearer " + key}}, body.dump(), "application/json");
    }
    json post(const std::string& key, const std::string& path, const json& body) {
      const httplib::Result result = ask(key, path, body);
      EXPECT_EQ(result->status, 200) << result->body;
      return json::parse(result->body);
    }
    std::string get(const std::string& key, const std::string& path) {
      httplib::Client client("127.0.0.1", http.port());
      const httplib::Result result = client.Get(path, {{"Authorization", "Bearer " + key}});
      return result->status == 200 ? result->body : std::to_string(result->status);
    }
    Service service;
    HttpServer http{{.port = 0}, service};
  };

  static ServiceOptions options(bool share, const std::string& folder = {}) {
    return {.model = "stories",
            .api_keys = {"mine", "theirs"},
            .metrics_key = "gauge",
            .speculation = {},
            .slot_save_path = folder,
            .share_prefixes = share};
  }
  static json completion(const std::string& prompt, const json& more = json::object()) {
    json body = {{"prompt", prompt}, {"max_tokens", 12}, {"temperature", 0}, {"ignore_eos", true}};
    body.update(more);
    return body;
  }
  static std::int64_t cached(const json& answer) {
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"];
  }
  /// Text that others do not know, and a hundred guesses at it, of which some begin as it does.
  static inline const std::string kSecret =
      "The password of the big red dog is seven green apples and a moon";
  static std::vector<std::string> guesses() {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t length = kSecret.size() * (i % 10 + 1) / 10;
      all.push_back(kSecret.substr(0, length) + (i < 10 ? "" : " " + std::string(1 + i / 10, 'x')));
    }
    return all;
  }
  /// Tokens that a stream's rounds propose.
  static std::vector<TokenId> proposals(const std::string& stream) {
    std::vector<TokenId> tokens;
    const std::regex event("data: (\\{.*\\})\n\n");
    for (auto at = std::sregex_iterator(stream.begin(), stream.end(), event); at != std::sregex_iterator();
         ++at) {
      const json chunk = json::parse((*at)[1].str());
      for (const json& choice : chunk["choices"]) {
        if (!choice.contains("speculation") || !choice["speculation"].contains("round")) continue;
        const json& nodes = choice["speculation"]["round"]["nodes"];
        for (std::size_t i = 1; i < nodes.size(); ++i) tokens.push_back(nodes[i]["id"]);
      }
    }
    return tokens;
  }
  /// What a key is told while it tries its guesses, one channel each.
  using Asked = std::vector<std::string> (*)(Server& server, const std::string& key);

  static std::vector<std::string> cached_by_guess(Server& server, const std::string& key) {
    std::vector<std::string> told;
    for (const std::string& guess : guesses()) {
      const json body = completion(guess, {{"max_tokens", 1}});
      told.push_back(std::to_string(cached(server.post(key, "/v1/completions", body))));
      told.push_back(json::parse(server.get(key, "/load"))["cached_tokens"].dump());
    }
    // All that was counted of prompts: what /metrics and /load say.
    std::smatch match;
    const std::string metrics = server.get(key, "/metrics");
    for (const std::string name : {"queries", "hits"}) {
      const std::regex line("\nvllm:prefix_cache_" + name + "_total[^ ]* (.*)");
      EXPECT_TRUE(std::regex_search(metrics, match, line)) << metrics;
      told.push_back(match[1].str());
    }
    return told;
  }

  static std::vector<std::string> proposed_by_guess(Server& server, const std::string& key) {
    std::vector<std::string> told;
    for (const std::string& guess : guesses()) {
      const json body = completion(guess, {{"stream", true},
                                           {"cache_prompt", false},
                                           {"return_speculation", true},
                                           {"speculative", {{"type", "suffix"}, {"policy", "chain"}}}});
      const httplib::Result streamed = server.ask(key, "/v1/completions", body);
      EXPECT_EQ(streamed->status, 200) << streamed->body;
      told.push_back(json(proposals(streamed->body)).dump());
    }
    return told;
  }

  static std::vector<std::string> slots_by_action(Server& server, const std::string& key) {
    std::vector<std::string> told;
    for (int slot = 0; slot < 4; ++slot) {
      for (const char* action : {"save", "restore", "erase"}) {
        const std::string path = "/slots/" + std::to_string(slot) + "?action=" + action;
        const httplib::Result result = server.ask(key, path, {{"filename", "a"}});
        json answer = json::parse(result->body);
        answer.erase("timings");
        told.push_back(std::to_string(result->status) + answer.dump());
      }
    }
    const json body = completion(kSecret, {{"max_tokens", 1}});
    told.push_back(std::to_string(cached(server.post(key, "/v1/completions", body))));
    return told;
  }

  /// What one key is told behind another that has written about the secret, or about something else.
  static std::vector<std::string> told(Asked ask, bool share, bool secret) {
    const testing_support::TemporaryFolder folder;
    Server server(options(share, folder.path().string()));
    const std::string prompt =
        secret ? kSecret : "One day, a girl named Lucy went out to play with a ball in the sun";
    const json suffix = {{"type", "suffix"}, {"policy", "chain"}};
    for (const json& plan : {json{{"type", "none"}}, suffix}) {
      server.post("theirs", "/v1/completions",
                  completion(prompt, {{"max_tokens", 40}, {"speculative", plan}}));
    }
    EXPECT_EQ(server.ask("theirs", "/slots/0?action=save", {{"filename", "a"}})->status, 200);
    return ask(server, "mine");
  }
};

/// Nothing that one key can ask or count tells it what the other's prompts are: all is as if they were about
/// something else. With shared prefixes all of it does, so that each of these looks where there is something.
TEST_F(TwoKeys, NoCountOfCachedTokensTellsOfTheOther) {
  EXPECT_EQ(told(cached_by_guess, false, true), told(cached_by_guess, false, false));
  EXPECT_NE(told(cached_by_guess, true, true), told(cached_by_guess, true, false));
}

TEST_F(TwoKeys, NoProposalTellsOfTheOther) {
  EXPECT_EQ(told(proposed_by_guess, false, true), told(proposed_by_guess, false, false));
  EXPECT_NE(told(proposed_by_guess, true, true), told(proposed_by_guess, true, false));
}

TEST_F(TwoKeys, NoSlotTellsOfTheOther) {
  const std::vector<std::string> apart = told(slots_by_action, false, true);
  EXPECT_EQ(apart, told(slots_by_action, false, false));
  EXPECT_THAT(apart[0], testing::StartsWith("404"));
  EXPECT_THAT(apart[1], testing::StartsWith("400")) << "there is no such file of its own";
  EXPECT_THAT(apart[2], testing::StartsWith("404"));
  EXPECT_NE(told(slots_by_action, true, true), told(slots_by_action, true, false));
}

TEST_F(TwoKeys, HaveFoldersAndSlotsOfTheirOwn) {
  const testing_support::TemporaryFolder folder;
  std::optional<Server> server(std::in_place, options(false, folder.path().string()));
  const json body = completion(kSecret);
  const json first = server->post("theirs", "/v1/completions", body);
  const json file = {{"filename", "a"}};
  server->post("theirs", "/slots/0?action=save", file);
  server->post("mine", "/v1/completions", completion("One day,"));
  const json mine = server->post("mine", "/slots/0?action=save", file);
  EXPECT_EQ(server->ask("theirs", "/slots/0?action=save", file)->status, 404) << "it is another's now";
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++folders;
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "a"));
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms::owner_all);
    EXPECT_THAT(entry.path().filename().string(),
                Not(testing::AnyOf(HasSubstr("mine"), HasSubstr("theirs"))));
  }
  EXPECT_EQ(folders, 2);
  server.reset();
  Server again(options(false, folder.path().string()));
  EXPECT_GT(again.post("theirs", "/slots/3?action=restore", file)["n_restored"], mine["n_saved"]);
  EXPECT_EQ(cached(again.post("mine", "/v1/completions", body)), 0);
  const json answer = again.post("theirs", "/v1/completions", body);
  EXPECT_GT(cached(answer), 10);
  EXPECT_EQ(answer["choices"][0]["text"], first["choices"][0]["text"]);
}

TEST_F(TwoKeys, SaltsTellApartWithinAKey) {
  const testing_support::TemporaryFolder folder;
  Server server(options(false, folder.path().string()));
  const json salted = completion(kSecret, {{"cache_salt", "a"}});
  EXPECT_EQ(cached(server.post("mine", "/v1/completions", salted)), 0);
  EXPECT_EQ(cached(server.post("mine", "/v1/completions", completion(kSecret))), 0);
  EXPECT_EQ(cached(server.post("theirs", "/v1/completions", salted)), 0) << "the same salt of another key";
  EXPECT_GT(cached(server.post("mine", "/v1/completions", salted)), 10);
  EXPECT_EQ(server.ask("mine", "/slots/0?action=save", {{"filename", "a"}})->status, 404);
  EXPECT_EQ(server.ask("mine", "/slots/0?action=save", {{"filename", "a"}, {"cache_salt", "a"}})->status,
            200);
  for (const json& salt : {json(""), json(3), json(std::string(513, 'x'))}) {
    const httplib::Result refused =
        server.ask("mine", "/v1/completions", completion("One", {{"cache_salt", salt}}));
    EXPECT_EQ(refused->status, 400);
    EXPECT_EQ(json::parse(refused->body)["error"]["param"], "cache_salt");
  }
  // Every API has the field.
  const json messages = json::array({{{"role", "user"}, {"content", kSecret}}});
  for (const auto& [path, ask] : std::vector<std::pair<std::string, json>>{
           {"/completion", {{"prompt", kSecret}, {"n_predict", 1}, {"cache_salt", 3}}},
           {"/v1/messages", {{"messages", messages}, {"max_tokens", 1}, {"cache_salt", 3}}},
           {"/v1/responses", {{"input", kSecret}, {"cache_salt", 3}}},
           {"/v1/chat/completions", {{"messages", messages}, {"cache_salt", 3}}}}) {
    const httplib::Result refused = server.ask("mine", path, ask);
    EXPECT_EQ(refused->status, 400);
    EXPECT_THAT(refused->body, HasSubstr("'cache_salt'")) << path;
  }
}

TEST_F(TwoKeys, WithoutKeysAllAreOneTenantUnlessTheySaySo) {
  Server server({.model = "stories", .api_keys = {}, .speculation = {}});
  server.post("a", "/v1/completions", completion(kSecret));
  EXPECT_GT(cached(server.post("b", "/v1/completions", completion(kSecret))), 10);
  EXPECT_EQ(cached(server.post("a", "/v1/completions", completion(kSecret, {{"cache_salt", "x"}}))), 0);
  EXPECT_GT(cached(server.post("b", "/v1/completions", completion(kSecret, {{"cache_salt", "x"}}))), 10);
}

TEST_F(TwoKeys, WhatIsNotToBeCachedIsNotFoundLater) {
  Server server(options(false));
  const json hidden = completion(kSecret, {{"cache_prompt", false}});
  server.post("mine", "/v1/completions", hidden);
  EXPECT_EQ(cached(server.post("mine", "/v1/completions", completion(kSecret, {{"max_tokens", 1}}))), 0);
}

TEST_F(TwoKeys, OneKeySeesWhatConcernsAll) {
  Server server(options(false));
  for (int i = 0; i < 2; ++i) server.post("mine", "/v1/completions", completion(kSecret));
  const auto cached_by = [&](const std::string& key) {
    return json::parse(server.get(key, "/load"))["cached_tokens"].get<int>();
  };
  EXPECT_GT(cached_by("mine"), 10);
  EXPECT_EQ(cached_by("theirs"), 0);
  EXPECT_EQ(cached_by("gauge"), cached_by("mine"));
  EXPECT_THAT(server.get("gauge", "/metrics"), HasSubstr("vllm:prefix_cache_hits_total"));
  EXPECT_EQ(server.get("gauge", "/v1/models"), "401");
  EXPECT_EQ(server.ask("gauge", "/v1/completions", completion("One"))->status, 401);
  EXPECT_EQ(server.ask("gauge", "/slots/0?action=erase", json::object())->status, 401);
  for (const char* path : {"/metrics", "/load", "/slots", "/props", "/tokenizer_info"})
    EXPECT_EQ(server.get("none", path), "401");
  for (const char* path : {"/tokenize", "/detokenize", "/apply-template"})
    EXPECT_EQ(server.ask("none", path, {{"content", "x"}})->status, 401) << path;
}

/// Of another key's requests a key sees that they take places, and no more.
TEST_F(TwoKeys, SlotsShowOnesOwnRequests) {
  Server server(options(false));
  std::map<std::string, json> seen;
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.headers = {{"Authorization", "Bearer theirs"}};
  request.body = completion(kSecret, {{"max_tokens", 400}, {"stream", true}}).dump();
  request.content_receiver = [&](const char*, std::size_t, std::uint64_t, std::uint64_t) {
    if (!seen.empty()) return true;
    for (const char* key : {"mine", "theirs", "gauge"}) seen[key] = json::parse(server.get(key, "/slots"))[0];
    EXPECT_EQ(server.ask("mine", "/slots/0?action=erase", json::object())->status, 404);
    EXPECT_EQ(server.ask("theirs", "/slots/0?action=erase", json::object())->status, 409);
    return true;
  };
  ASSERT_TRUE(httplib::Client("127.0.0.1", server.http.port()).send(request));
  for (const auto& [key, slot] : seen) {
    EXPECT_EQ(slot["is_processing"], true);
    EXPECT_EQ(slot.contains("n_prompt_tokens"), key != "mine") << key;
  }
}

/// No part of it could ever wait: that is no matter of trying again.
TEST_F(TwoKeys, ABatchThatCanNeverFitIsNamed) {
  Server server(options(false), {.parallel = 2, .queue = 4});
  const auto refusal = [&](const json& more) {
    const httplib::Result result = server.ask("mine", "/v1/completions", completion("One", more));
    const json error = json::parse(result->body)["error"];
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("at most 4"));
    return std::to_string(result->status) + " " + error["param"].get<std::string>();
  };
  EXPECT_EQ(refusal({{"prompt", json::array({"a", "b", "c", "d", "e"})}}), "400 prompt");
  EXPECT_EQ(refusal({{"n", 5}}), "400 n");
  EXPECT_EQ(refusal({{"n", 2}, {"prompt", json::array({"a", "b", "c"})}}), "400 prompt");
  EXPECT_EQ(server.ask("mine", "/v1/completions", completion("One", {{"n", 4}, {"max_tokens", 2}}))->status,
            200);
}

/// Names, limits and a file that changes, as a client and whoever reads the log see them.
class NamedKeys : public testing_support::StoriesEngineTest {
 protected:
  void write(const std::string& text) {
    std::ofstream(file_ + ".new") << text;
    std::filesystem::rename(file_ + ".new", file_);
  }
  std::unique_ptr<Service> serve(const std::string& keys) {
    write(keys);
    ServiceOptions options = {.model = "stories", .api_keys = {}, .speculation = {}};
    options.api_key_file = file_;
    auto service = std::make_unique<Service>(options);
    engine_->forget();
    service->open(*engine_, {.parallel = 4});
    return service;
  }
  static httplib::Result ask(const HttpServer& http, const std::string& key, const json& body) {
    httplib::Client client("127.0.0.1", http.port());
    return client.Post("/v1/completions", {{"Authorization", "Bearer " + key}}, body.dump(),
                       "application/json");
  }
  static std::string metrics(const HttpServer& http, const std::string& key) {
    httplib::Client client("127.0.0.1", http.port());
    return client.Get("/metrics", {{"Authorization", "Bearer " + key}})->body;
  }
  static json story(int tokens) {
    return {{"prompt", "Once upon a time"}, {"max_tokens", tokens}, {"temperature", 0}, {"ignore_eos", true}};
  }

  const testing_support::TemporaryFolder folder_;
  const std::string file_ = (folder_.path() / "keys").string();
};

TEST_F(NamedKeys, AReloadHasEffectAtOnceAndLeavesAnAuditLine) {
  testing::internal::CaptureStderr();
  {
    const std::unique_ptr<Service> service = serve("alice:SECRET1\nbob:SECRET2\n");
    const HttpServer http({.port = 0}, *service);
    EXPECT_EQ(ask(http, "SECRET1", story(2))->status, 200);
    write("alice:SECRET3\ncarol:SECRET4\n");
    EXPECT_EQ(ask(http, "SECRET3", story(2))->status, 401) << "nobody has said so";
    service->reload_keys();
    EXPECT_EQ(ask(http, "SECRET1", story(2))->status, 401);
    EXPECT_EQ(ask(http, "SECRET2", story(2))->status, 401);
    EXPECT_EQ(ask(http, "SECRET3", story(2))->status, 200);
    write("alice:SECRET5 twice as much\n");
    service->reload_keys();
    EXPECT_EQ(ask(http, "SECRET3", story(2))->status, 200) << "all stays as it was";
    EXPECT_EQ(ask(http, "SECRET5", story(2))->status, 401);
    service->drain();
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, Not(HasSubstr("SECRET")));
  EXPECT_THAT(log, HasSubstr("level=warning msg=audit event=refused reason=\"unknown key\""));
  EXPECT_THAT(log, HasSubstr("event=\"keys were read\" added=carol removed=bob changed=alice"));
  EXPECT_THAT(log, HasSubstr("client=127.0.0.1 key=alice status=200"));
  EXPECT_THAT(log,
              HasSubstr("level=error msg=\"the API keys stay as they were: " + file_ + ": line 1: expected"));
}

/// What a removed key has begun is finished, and what it sends on is not let in.
TEST_F(NamedKeys, WhatHasBegunGoesOnWhenItsKeyIsRemoved) {
  const std::unique_ptr<Service> service = serve("alice:one\nbob:two\n");
  const HttpServer http({.port = 0}, *service);
  httplib::Client client("127.0.0.1", http.port());
  client.set_keep_alive(true);
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.headers = {{"Authorization", "Bearer one"}};
  json body = story(300);
  body["stream"] = true;
  request.body = body.dump();
  bool removed = false;
  std::string text;
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    text.append(data, size);
    if (!std::exchange(removed, true)) {
      write("bob:two\n");
      service->reload_keys();
    }
    return true;
  };
  ASSERT_TRUE(client.send(request));
  EXPECT_THAT(text, testing::EndsWith("data: [DONE]\n\n"));
  EXPECT_EQ(client.Get("/v1/models", {{"Authorization", "Bearer one"}})->status, 401)
      << "the same connection";
  EXPECT_EQ(client.Get("/v1/models", {{"Authorization", "Bearer two"}})->status, 200);
  service->drain();
}

/// The header was let in, the body comes later: the key was good for nothing else.
TEST_F(NamedKeys, ABodyThatComesAfterItsKeyHasGoneIsRefused) {
  const std::unique_ptr<Service> service = serve("alice:one\nbob:two\n");
  const HttpServer http({.port = 0}, *service);
  testing_support::RawClient raw(http.port());
  const std::string body = story(2).dump();
  raw.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer one\r\n"
      "Expect: 100-continue\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_THAT(raw.read_until("Continue\r\n\r\n"), HasSubstr("100 Continue"));
  write("bob:two\n");
  service->reload_keys();
  raw.send(body);
  EXPECT_THAT(raw.read_all(), HasSubstr("HTTP/1.1 401"));
  service->drain();
}

TEST_F(NamedKeys, LimitsAreAKeysOwn) {
  testing::internal::CaptureStderr();
  {
    const std::unique_ptr<Service> service =
        serve("few:a requests=2\nlittle:b tokens-per-minute=20\nfree:c\ngauge:d metrics\n");
    const HttpServer http({.port = 0}, *service);
    json three = story(2);
    three["n"] = 3;
    const httplib::Result many = ask(http, "a", three);
    EXPECT_EQ(many->status, 400);
    EXPECT_EQ(json::parse(many->body)["error"]["param"], "n");
    EXPECT_THAT(many->body, HasSubstr("expected at most 2"));
    three["n"] = 2;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(http, "a", three)->status, 200) << "one after another";
    EXPECT_EQ(ask(http, "b", story(40))->status, 200) << "what has begun is finished";
    const httplib::Result beyond = ask(http, "b", story(1));
    EXPECT_EQ(beyond->status, 429);
    EXPECT_EQ(json::parse(beyond->body)["error"]["type"], "rate_limit_error");
    EXPECT_GT(std::stoi(beyond->get_header_value("Retry-After")), 30);
    EXPECT_EQ(ask(http, "c", three)->status, 200);

    const std::string all = metrics(http, "d");
    EXPECT_THAT(all, HasSubstr("augur:key_refused_total{model_name=\"stories\",key=\"little\",limit=\"tokens-"
                               "per-minute\"} 1\n"));
    EXPECT_THAT(all,
                HasSubstr("augur:key_generation_tokens_total{model_name=\"stories\",key=\"little\"} 40\n"));
    EXPECT_THAT(all, HasSubstr("augur:key_generation_tokens_total{model_name=\"stories\",key=\"few\"} 12\n"));
    EXPECT_THAT(all, HasSubstr("augur:key_answers_running{model_name=\"stories\",key=\"few\"} 0\n"));
    const std::string own = metrics(http, "c");
    EXPECT_THAT(own, HasSubstr("key=\"free\""));
    EXPECT_THAT(own,
                Not(testing::AnyOf(HasSubstr("\"few\""), HasSubstr("\"little\""), HasSubstr("\"gauge\""))));
    service->drain();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("msg=audit event=refused reason=\"tokens a minute\""));
}

/// A reload changes neither whose texts they are nor what is owed.
TEST_F(NamedKeys, ANewKeyOfANameFindsItsTexts) {
  const std::unique_ptr<Service> service = serve("alice:one tokens-per-minute=60\nbob:two\n");
  const HttpServer http({.port = 0}, *service);
  const auto cached = [](const httplib::Result& result) {
    return json::parse(result->body)["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  };
  EXPECT_EQ(cached(ask(http, "one", story(40))), 0);
  write("alice:three tokens-per-minute=60\nbob:two\n");
  service->reload_keys();
  EXPECT_GT(cached(ask(http, "three", story(40))), 2);
  EXPECT_EQ(cached(ask(http, "two", story(2))), 0);
  EXPECT_EQ(ask(http, "three", story(1))->status, 429);
  write("alice:four tokens-per-minute=60\nbob:two\n");
  service->reload_keys();
  EXPECT_EQ(ask(http, "four", story(1))->status, 429) << "a new key is no new minute";
  service->drain();
}

}  // namespace
}  // namespace augur
