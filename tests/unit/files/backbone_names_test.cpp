#include "files/backbone_names.h"

#include <nlohmann/json.hpp>

#include "files/safetensors.h"
#include "support/test_files.h"

namespace augur {
namespace {

using test::expect_error;
using test::raw;
using test::safetensors_file;
using test::TemporaryFolder;
using Json = nlohmann::json;

class BackboneNames : public testing::Test {
 protected:
  std::vector<std::string> renamed(const std::vector<std::string>& names, const Json& config) {
    Json header = Json::object();
    std::string bytes;
    for (const std::string& name : names) {
      header[name] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {bytes.size(), bytes.size() + 4}}};
      bytes += std::string(4, '\0');
    }
    const auto path = folder_.write("model.safetensors", safetensors_file(header.dump(), bytes));
    const auto store = open_safetensors(path);
    rename_backbone(config, *store);
    std::vector<std::string> found;
    for (const auto& [name, tensor] : store->tensors()) {
      EXPECT_EQ(tensor.name, name);
      found.push_back(name);
    }
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(BackboneNames, AreThoseOfOtherModels) {
  const Json config = {{"model_type", "nemotron_h"}};
  const std::vector<std::string> expected = {"lm_head.weight", "model.embed_tokens.weight",
                                             "model.layers.0.mixer.up_proj.weight", "model.norm.weight"};
  for (const std::string part : {"backbone.", "model."}) {
    EXPECT_EQ(renamed({"lm_head.weight", part + "embeddings.weight", part + "layers.0.mixer.up_proj.weight",
                       part + "norm_f.weight"},
                      config),
              expected);
  }
  const std::vector<std::string> own = {"backbone.norm_f.weight"};
  for (const Json& other : {Json{{"model_type", "llama"}}, Json{{"model_type", 3}}, Json::object()})
    EXPECT_EQ(renamed(own, other), own);
  expect_error(
      [&] {
        renamed({"backbone.norm_f.weight", "model.norm.weight"}, config);
      },
      {"model.norm.weight", "twice"});
}

}  // namespace
}  // namespace augur
