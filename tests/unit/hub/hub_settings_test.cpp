#include "hub/hub_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

using Variables = std::map<std::string, std::string>;

HubSettings settings(const Variables& variables) {
  return hub_settings([&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(HubSettings, AreThoseOfTheHubsTools) {
  EXPECT_EQ(settings({{"HOME", "/h"}}).cache, "/h/.cache/huggingface/hub");
  EXPECT_EQ(settings({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).cache, "/x/huggingface/hub");
  EXPECT_EQ(settings({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "~/f"}}).cache, "/h/f/hub");
  EXPECT_EQ(settings({{"HF_HOME", "/f"}, {"HUGGINGFACE_HUB_CACHE", "/g"}}).cache, "/g");
  EXPECT_EQ(settings({{"HF_HUB_CACHE", "/c"}, {"HUGGINGFACE_HUB_CACHE", "/g"}}).cache, "/c");
  EXPECT_EQ(settings({}).cache, "");
  EXPECT_EQ(settings({}).endpoint, "https://huggingface.co");
  EXPECT_EQ(settings({{"HF_ENDPOINT", "http://localhost:1/"}}).endpoint, "http://localhost:1");
  EXPECT_FALSE(settings({}).offline);
  for (const char* yes : {"1", "true", "YES", "On"}) EXPECT_TRUE(settings({{"HF_HUB_OFFLINE", yes}}).offline);
  EXPECT_FALSE(settings({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_TRUE(settings({{"TRANSFORMERS_OFFLINE", "1"}}).offline);
}

TEST(HubSettings, AuthoritiesAreTheSystemsUnlessTheyAreNamed) {
  EXPECT_EQ(settings({{"SSL_CERT_FILE", "/a"}, {"CURL_CA_BUNDLE", "/b"}}).authorities, "/a");
  EXPECT_EQ(settings({{"CURL_CA_BUNDLE", "/b"}}).authorities, "/b");
  const std::string usual = settings({}).authorities;
  EXPECT_TRUE(usual.empty() || std::filesystem::exists(usual)) << usual;
}

TEST(HubSettings, TheTokenIsWhereTheToolsHaveIt) {
  const testing_support::TemporaryFolder folder;
  std::ofstream(folder.path() / "token") << "hf_file\n";
  const std::string home = folder.path().string();
  EXPECT_EQ(settings({{"HF_HOME", home}}).token, "hf_file");
  EXPECT_EQ(
      settings({{"HF_HOME", home}, {"HF_TOKEN", " hf_one\n"}, {"HUGGING_FACE_HUB_TOKEN", "hf_two"}}).token,
      "hf_one");
  EXPECT_EQ(settings({{"HF_HOME", home}, {"HF_TOKEN", ""}, {"HUGGING_FACE_HUB_TOKEN", "hf_two"}}).token,
            "hf_two");
  EXPECT_EQ(settings({{"HF_HOME", home}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}}).token, "");
  EXPECT_EQ(settings({{"HF_TOKEN_PATH", home + "/token"}}).token, "hf_file");
  EXPECT_EQ(settings({{"HF_TOKEN_PATH", home + "/none"}}).token, "");
  std::ofstream(folder.path() / "token") << "two words";
  EXPECT_THAT(error_of([&] {
                settings({{"HF_HOME", home}});
              }),
              HasSubstr("token: expected a token, one word"));
}

TEST(HubSettings, WhatCannotBeUsedIsNamed) {
  EXPECT_THAT(error_of([] {
                settings({{"HF_TOKEN", "a\r\nX-Other: b"}});
              }),
              HasSubstr("HF_TOKEN: expected a token"));
  for (const char* endpoint :
       {"huggingface.co", "ftp://x", "file:///etc/passwd", "https://", "https://a b"}) {
    EXPECT_THAT(error_of([&] {
                  settings({{"HF_ENDPOINT", endpoint}});
                }),
                HasSubstr("HF_ENDPOINT"))
        << endpoint;
  }
}

}  // namespace
}  // namespace augur
