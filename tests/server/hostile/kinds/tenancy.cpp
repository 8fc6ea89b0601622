#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

constexpr std::string_view kBody = R"({"prompt": "Once upon a time", "max_tokens": 2})";

std::string keyed(std::string_view key) {
  return post("/v1/completions", kBody, "Authorization: Bearer " + std::string(key) + "\r\n");
}
std::string as(std::string_view key, std::string_view path, std::string_view body) {
  return post(path, body, "x-api-key: " + std::string(key) + "\r\n");
}

}  // namespace

/// Who asks, and what belongs to somebody else.
std::vector<Case> tenancy() {
  const std::string alice(kAlice);
  const std::string bob(kBob);
  return {
      {"no key", post("/v1/completions", kBody), {401}},
      {"an empty key", keyed(""), {401}},
      {"a key", keyed(alice), {200}},
      {"a key in small letters' scheme",
       post("/v1/completions", kBody, "Authorization: bearer " + bob + "\r\n"),
       {200}},
      {"a key without its last letter", keyed(alice.substr(0, alice.size() - 1)), {401}},
      {"a key and a letter", keyed(alice + "x"), {401}},
      {"a key twice", keyed(alice + alice), {401}},
      {"two keys in one", keyed(alice + "," + bob), {401}},
      {"a key in other letters", keyed("ALICE-0123456789"), {401}},
      {"a key with a zero byte", keyed(alice + std::string(1, '\0')), {400, 401}},
      {"a key of 8000 letters", keyed(std::string(8'000, 'k')), {401}},
      {"a wrong key before a right one",
       post("/v1/completions", kBody, "Authorization: Bearer x\r\nx-api-key: " + alice + "\r\n"),
       {401}},
      {"a right key and a wrong one",
       post("/v1/completions", kBody, "Authorization: Bearer " + alice + "\r\nAuthorization: Bearer x\r\n"),
       {200, 400, 401}},
      {"a scheme of another sort",
       post("/v1/completions", kBody, "Authorization: Basic " + alice + "\r\n"),
       {401}},
      {"a key in the address", post("/v1/completions?api_key=" + alice, kBody), {400}},
      {"a key in the body",
       post("/v1/completions", R"({"prompt": "a", "api_key": ")" + alice + "\"}"),
       {401}},
      {"no key for a body that is too long",
       post("/v1/completions", "", "Content-Length: 99999999\r\n"),
       {401, 413}},
      {"no key for a body that never comes",
       "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n",
       {401}},
      {"no key for a path that is not there", get("/secret"), {401}},
      {"no key for the metrics", get("/metrics"), {401}},
      {"no key for the slots", get("/slots"), {401}},
      {"no key for the description", get("/openapi.json"), {401}},
      {"health for everybody", get("/health"), {200}},
      {"a page of elsewhere",
       post("/v1/completions", kBody,
            "Origin: https://evil.example\r\nAuthorization: Bearer " + alice + "\r\n"),
       {403}},
      {"a page of nowhere",
       post("/v1/completions", kBody, "Origin: null\r\nAuthorization: Bearer " + alice + "\r\n"),
       {403}},
      {"Alice's text",
       as(alice, "/completion",
          R"({"prompt": "Lily and Tom went to the park", "n_predict": 4, "id_slot": 0})"),
       {200}},
      {"Bob saves it", as(bob, "/slots/0?action=save", R"({"filename": "stolen"})"), {404}, "id_slot"},
      {"Bob erases it", as(bob, "/slots/0?action=erase", "{}"), {404}, "id_slot"},
      {"Bob says that he is Alice",
       as(bob, "/slots/0?action=save", R"({"filename": "stolen", "cache_salt": ")" + alice + "\"}"),
       {404},
       "id_slot"},
      {"Alice saves it", as(alice, "/slots/0?action=save", R"({"filename": "own"})"), {200}},
      {"Bob restores it", as(bob, "/slots/0?action=restore", R"({"filename": "own"})"), {400}, "filename"},
      {"Alice restores it", as(alice, "/slots/1?action=restore", R"({"filename": "own"})"), {200}},
      {"a salt of nothing",
       as(alice, "/v1/completions", R"({"prompt": "a", "cache_salt": ""})"),
       {400},
       "cache_salt"},
      {"a salt that is a number",
       as(alice, "/v1/chat/completions",
          R"({"messages": [{"role": "user", "content": "a"}], "cache_salt": 1})"),
       {400},
       "cache_salt"},
      {"a salt of a megabyte",
       as(alice, "/v1/responses", R"({"input": "a", "cache_salt": ")" + std::string(900'000, 's') + "\"}"),
       {400},
       "cache_salt"},
      {"an address that is somebody else's",
       post("/v1/completions", kBody,
            "X-Forwarded-For: 10.0.0.1, 127.0.0.1\r\nForwarded: for=10.0.0.1\r\nAuthorization: Bearer " +
                alice + "\r\n"),
       {200}},
  };
}

}  // namespace augur::hostile
