#include "server/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/endpoint.h"

namespace augur {
namespace {

using nlohmann::json;

json description() {
  return openapi_description();
}

TEST(OpenApi, DescribesEveryEndpointAndNoOther) {
  const json described = description();
  std::vector<std::string> found;
  for (const auto& [path, methods] : described["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string name = method;
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
      found.push_back(name + " " + path);
    }
  }
  std::vector<std::string> expected;
  for (const Endpoint& endpoint : endpoints()) {
    expected.push_back(std::string(endpoint.method) + " " + std::string(endpoint.path));
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));
}

/// Every {"$ref": ...} in `value`.
void collect(const json& value, std::vector<std::string>& to) {
  if (value.is_object() && value.contains("$ref")) to.push_back(value["$ref"]);
  if (!value.is_structured()) return;
  for (const json& item : value) collect(item, to);
}

TEST(OpenApi, RefersToWhatThereIs) {
  const json described = description();
  std::vector<std::string> references;
  collect(described, references);
  EXPECT_GT(references.size(), 50U);
  for (const std::string& reference : references) {
    EXPECT_TRUE(described.contains(json::json_pointer(reference.substr(1)))) << reference;
  }
}

TEST(OpenApi, RequestsTakeWhatTheirTablesRead) {
  const json schemas = description()["components"]["schemas"];
  const json& chat = schemas["ChatCompletionRequest"];
  EXPECT_EQ(chat["required"], json({"messages"}));
  EXPECT_EQ(chat["properties"]["n"]["anyOf"][0],
            json({{"type", "integer"}, {"minimum", 1}, {"maximum", 16}}));
  EXPECT_EQ(chat["properties"]["modalities"]["anyOf"][0], json::parse(R"({"enum": [["text"]]})"));
  EXPECT_TRUE(schemas["LlamaCppRequest"]["properties"].contains("response_fields"));
  EXPECT_FALSE(schemas["CountTokensRequest"]["properties"].contains("max_tokens"));
}

}  // namespace
}  // namespace augur
