#include "files/json_reader.h"

#include <nlohmann/json.hpp>

#include "support/test_files.h"

namespace augur {
namespace {

using test::expect_error;
using test::TemporaryFolder;

TEST(JsonReader, ReadsWhatIsThere) {
  const TemporaryFolder folder;
  const auto document = read_json(folder.write("a.json", R"({"a": [1, 2.5, "\u00e9"], "b": null})"));
  EXPECT_EQ(document["a"][2], "é");
  EXPECT_TRUE(document["b"].is_null());
}

TEST(JsonReader, NamesFileAndPlace) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.json", "{\n\"a\": }");
  expect_error([&] { read_json(path); }, {path.string(), "line 2"});
  expect_error([&] { read_json(folder / "none.json"); }, {"none.json"});
  expect_error([&] { read_json(folder.path()); }, {folder.path().string(), "regular file"});
  expect_error([] { parse_json("", "x"); }, {"x: invalid JSON"});
  expect_error([] { parse_json("\"\xff\"", "x"); }, {"x: invalid JSON"});
}

TEST(JsonReader, NumbersThatPythonWritesAndJsonLacksAreNull) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "config.json", R"({"limit": [0.0, Infinity], "NaN": "a \"NaN\" -Infinity", "low": [-Infinity,NaN]})");
  const nlohmann::json read = read_json(path);
  EXPECT_EQ(read["limit"], (nlohmann::json{0.0, nullptr}));
  EXPECT_EQ(read["low"], (nlohmann::json{nullptr, nullptr}));
  EXPECT_EQ(read["NaN"], "a \"NaN\" -Infinity");
  expect_error([] { parse_json("[Infinity]", "x"); }, {"x: invalid JSON"});
  expect_error([&] { read_json(folder.write("bad.json", "[Infinit]")); }, {"bad.json", "invalid JSON"});
  expect_error([&] { read_json(folder.write("open.json", "\"Infinity\\")); }, {"open.json", "invalid JSON"});
}

TEST(JsonReader, RefusesDeepNesting) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth), "x"));
  expect_error([&] { parse_json(nested(kMaxJsonDepth + 1), "x"); }, {"x", "nested"});
  expect_error([&] { parse_json(std::string(10'000'000, '['), "x"); }, {"x", "nested"});
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  expect_error([&] { parse_json(objects, "x"); }, {"x", "nested"});
}

TEST(JsonReader, BracketsInStringsDoNotNest) {
  const std::string brackets(1000, '[');
  EXPECT_EQ(parse_json("[\"\\\"" + brackets + "\"]", "x")[0], "\"" + brackets);
}

TEST(JsonReader, LastOfDuplicateKeysCounts) {
  EXPECT_EQ(parse_json(R"({"a":1,"a":2})", "x")["a"], 2);
}

TEST(JsonReader, MissingFileIsAnEmptyObject) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_json_object_if_exists(folder / "none.json"), nlohmann::json::object());
  const auto path = folder.write("list.json", "[]");
  expect_error([&] { read_json_object_if_exists(path); }, {"list.json", "object", "array"});
}

}  // namespace
}  // namespace augur
