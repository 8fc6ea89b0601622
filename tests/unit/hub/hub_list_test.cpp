#include "hub/hub_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/error_of.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_support::error_of;

const std::string kCommit(40, 'c');
const std::string kSmall(40, 'a');
const std::string kLarge(64, 'b');

json list_of(json entry) {
  return {{"sha", kCommit}, {"siblings", json::array({std::move(entry)})}, {"private", false}};
}

TEST(HubList, IsRead) {
  const HubList list =
      parse_hub_list(json{{"sha", kCommit},
                          {"siblings",
                           {{{"rfilename", "m.gguf"},
                             {"size", 9},
                             {"blobId", kSmall},
                             {"lfs", {{"sha256", kLarge}, {"size", 1000}, {"pointerSize", 9}}}},
                            {{"rfilename", "a/config.json"}, {"size", 0}, {"blobId", kSmall}}}}}
                         .dump(),
                     "hub");
  EXPECT_EQ(list.commit, kCommit);
  ASSERT_EQ(list.files.size(), 2u);
  EXPECT_EQ(list.files[0].path, "a/config.json");
  EXPECT_EQ(list.files[0].hash, kSmall);
  EXPECT_EQ(list.files[1].path, "m.gguf");
  EXPECT_EQ(list.files[1].hash, kLarge);
  EXPECT_EQ(list.files[1].bytes, 1000u);
}

TEST(HubList, PathsStayInTheRepository) {
  for (const std::string& path :
       {std::string("../../x"), std::string("a/../../x"), std::string("/etc/passwd"), std::string("a//b"),
        std::string("."), std::string(".."), std::string("a/."), std::string(), std::string("a/"),
        std::string("a\nb"), std::string("a\0b", 3), std::string("a/\x1b[2J"), std::string(256, 'x'),
        "a/" + std::string(256, 'x')}) {
    const std::string text = list_of({{"rfilename", path}, {"size", 1}, {"blobId", kSmall}}).dump();
    EXPECT_THAT(error_of([&] { parse_hub_list(text, "hub"); }),
                HasSubstr("hub: siblings.rfilename: " + fmt::format("{:?}", path)))
        << path;
  }
}

TEST(HubList, GarbageIsNamed) {
  const auto refused = [](const json& document) {
    return error_of([&] { parse_hub_list(document.dump(), "hub"); });
  };
  EXPECT_THAT(error_of([] { parse_hub_list("<html>", "hub"); }), HasSubstr("hub"));
  EXPECT_THAT(error_of([] { parse_hub_list("", "hub"); }), HasSubstr("hub"));
  EXPECT_THAT(error_of([] { parse_hub_list(std::string(1000, '['), "hub"); }), HasSubstr("hub"));
  EXPECT_THAT(refused(json::array()), HasSubstr("expected an object"));
  EXPECT_THAT(refused({{"siblings", json::array()}}), HasSubstr("sha: expected a commit"));
  EXPECT_THAT(refused({{"sha", "../../../../tmp"}, {"siblings", json::array()}}),
              HasSubstr("sha: expected a commit"));
  EXPECT_THAT(refused({{"sha", 5}, {"siblings", json::array()}}), HasSubstr("sha"));
  EXPECT_THAT(refused({{"sha", kCommit}}), HasSubstr("siblings: expected a list"));
  EXPECT_THAT(refused({{"sha", kCommit}, {"siblings", {{"a", 1}}}}), HasSubstr("siblings: expected a list"));
  EXPECT_THAT(refused(list_of(5)), HasSubstr("siblings: expected objects"));
  EXPECT_THAT(refused(list_of({{"rfilename", "x"}, {"blobId", kSmall}})), HasSubstr("size"));
  EXPECT_THAT(refused(list_of({{"rfilename", "x"}, {"size", -1}, {"blobId", kSmall}})), HasSubstr("size"));
  EXPECT_THAT(refused(list_of({{"rfilename", "x"}, {"size", 1e300}, {"blobId", kSmall}})), HasSubstr("size"));
  EXPECT_THAT(refused(list_of({{"rfilename", "x"}, {"size", 1}})), HasSubstr("x: expected the hash"));
  EXPECT_THAT(refused(list_of({{"rfilename", "x"}, {"size", 1}, {"blobId", "../../../x"}})),
              HasSubstr("x: expected the hash"));
  EXPECT_THAT(refused(list_of({{"rfilename", "x"}, {"size", 1}, {"blobId", kSmall}, {"lfs", {{"size", 1}}}})),
              HasSubstr("x: expected the hash"));
  const json one = {{"rfilename", "x"}, {"size", 1}, {"blobId", kSmall}};
  EXPECT_THAT(refused({{"sha", kCommit}, {"siblings", {one, one}}}), HasSubstr("x is there twice"));
}

}  // namespace
}  // namespace augur
