#include "server/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/problem.h"

namespace augur {
namespace {

const KeyRing kOpen({});

/// The status by which a request is refused; 0: it is let in.
int refusal(const Admission& admission, HttpHeaders headers, const std::string& path = "/v1/models",
            const std::string& query = {}, const std::string& client = "192.0.2.1") {
  HttpRequest head;
  head.method = "POST";
  head.path = path;
  head.query = query;
  head.client = client;
  head.headers = std::move(headers);
  try {
    admission.check(head);
  } catch (const Problem& problem) {
    return problem.status();
  }
  return 0;
}

TEST(Admission, KeysAreTakenAsClientsSendThem) {
  const KeyRing keys({.lines = {"first", "second"}});
  const Admission admission({}, keys);
  for (const char* sent : {"Bearer first", "bearer second", "BEARER  second"}) {
    EXPECT_EQ(refusal(admission, {{"host", "localhost"}, {"authorization", sent}}), 0) << sent;
  }
  EXPECT_EQ(refusal(admission, {{"host", "localhost"}, {"x-api-key", "second"}}), 0);
  for (const char* sent :
       {"Bearer firs", "Bearer firstt", "Bearer ", "first", "Basic first", "Bearer firstfirst"}) {
    EXPECT_EQ(refusal(admission, {{"host", "localhost"}, {"authorization", sent}}), 401) << sent;
  }
  EXPECT_EQ(refusal(admission, {{"host", "localhost"}}), 401);
  EXPECT_EQ(refusal(admission, {{"host", "localhost"}}, "/health"), 0);
}

TEST(Admission, NoKeyStandsInAUrl) {
  const KeyRing keys({.lines = {"secret"}});
  const Admission admission({}, keys);
  const HttpHeaders good = {{"host", "localhost"}, {"authorization", "Bearer secret"}};
  for (const char* query : {"api_key=secret", "a=b&key=secret", "API-KEY=x", "access_token="}) {
    EXPECT_EQ(refusal(admission, good, "/v1/models", query), 400) << query;
  }
  EXPECT_EQ(refusal(admission, good, "/slots/0", "action=save"), 0);
  EXPECT_EQ(refusal(admission, good, "/slots/0", "keys=1&a=key"), 0);
}

/// A page whose name leads here by DNS rebinding says so in Host.
TEST(Admission, HostsAreThoseThatItWasTold) {
  const Admission admission({.cors_origins = {}, .hosts = {"gpu.example.org"}}, kOpen);
  for (const char* host : {"localhost", "LocalHost:8080", "127.0.0.1:80", "[::1]:8080", "192.0.2.7",
                           "gpu.example.org:8080", "GPU.example.org"}) {
    EXPECT_EQ(refusal(admission, {{"host", host}}), 0) << host;
  }
  for (const char* host : {"evil.example.org", "localhost.evil.org", "127.0.0.1.evil.org:80"}) {
    EXPECT_EQ(refusal(admission, {{"host", host}}), 403) << host;
    EXPECT_EQ(refusal(admission, {{"host", host}}, "/v1/models", "", ""), 0) << "by a UNIX socket";
  }
  EXPECT_EQ(refusal(Admission({.cors_origins = {}, .hosts = {"*"}}, kOpen), {{"host", "any.example.org"}}),
            0);
}

/// A page may post text without asking first.
TEST(Admission, PagesOfForeignOriginsAreRefused) {
  const Admission admission({.cors_origins = {"https://chat.example.org"}, .hosts = {}}, kOpen);
  const auto from = [&](const char* origin) {
    return refusal(admission,
                   {{"host", "localhost:8080"}, {"origin", origin}, {"content-type", "text/plain"}});
  };
  EXPECT_EQ(from("https://evil.example.org"), 403);
  EXPECT_EQ(from("null"), 403);
  EXPECT_EQ(from("http://localhost:1234"), 403) << "another server's page";
  EXPECT_EQ(from("https://chat.example.org"), 0);
  EXPECT_EQ(from("http://localhost:8080"), 0) << "its own page";
}

TEST(Admission, PagesOfThisMachineMayBeLetIn) {
  const Admission admission({.cors_origins = {"localhost"}, .hosts = {}}, kOpen);
  const auto from = [&](const char* origin) {
    return refusal(admission, {{"host", "localhost:8080"}, {"origin", origin}});
  };
  for (const char* origin : {"http://localhost:1234", "http://127.0.0.1", "http://[::1]:3000"}) {
    EXPECT_EQ(from(origin), 0) << origin;
  }
  for (const char* origin : {"http://localhost.evil.com", "http://notlocalhost", "null"}) {
    EXPECT_EQ(from(origin), 403) << origin;
  }
}

}  // namespace
}  // namespace augur
