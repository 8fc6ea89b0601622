#include "cost/product_traversals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::error_of;
using testing_support::TemporaryFolder;

/// Large enough for its way over memory to count: 13 MB of bf16.
ModelConfig config() {
  ModelConfig config;
  config.family = "llama";
  config.layers = 4;
  config.hidden = 512;
  config.intermediate = 1024;
  config.heads = 8;
  config.kv_heads = 2;
  config.head_dim = 64;
  config.vocab = 1000;
  config.max_context = 64;
  return config;
}

class ProductTraversals : public testing::Test {
 protected:
  ProductTraversals() {
    if (select_isa() == Isa::Portable) skipped_ = true;
  }
  void SetUp() override {
    if (skipped_) GTEST_SKIP() << "portable kernels have no traversals";
  }
  GemmTraversal prepare() {
    backend_.kernels.traversals = {};
    prepare_products(*model_, folder_.path(),
                     Log([this](LogLevel, std::string_view text) { warnings_.emplace_back(text); }));
    return backend_.kernels.traversals.of(DType::BF16);
  }
  fs::path file() const {
    for (const auto& entry : fs::directory_iterator(folder_.path())) return entry.path();
    return {};
  }
  nlohmann::json read() const { return nlohmann::json::parse(std::ifstream(file())); }
  void write(const nlohmann::json& content) const { std::ofstream(file()) << content.dump(); }

  bool skipped_ = false;
  TemporaryFolder folder_;
  Backend backend_{2};
  std::unique_ptr<Model> model_ = Model::random(backend_, config(), 1, {.weights = WeightFormat::BF16});
  std::vector<std::string> warnings_;
};

TEST_F(ProductTraversals, AreMeasuredOnceAndRemembered) {
  const GemmTraversal measured = prepare();
  nlohmann::json content = read();
  ASSERT_EQ(content["augur_products"], 2);
  EXPECT_EQ(content["plans"]["BF16"]["block_kib"], measured.block_kib);
  // What no measurement gives: who shows it has read the file.
  content["plans"]["BF16"]["one_row_near_lines"] = 12345;
  content["plans"]["BF16"]["doubt"] = 0;
  content["plans"]["Q4_0"] = content["plans"]["BF16"];
  write(content);
  EXPECT_EQ(prepare().one_row.near_lines, 12345);
  EXPECT_EQ(read(), content) << "another model's types stay";
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ProductTraversals, ChosenBesideABusyProgramAreChosenAnew) {
  prepare();
  nlohmann::json content = read();
  content["plans"]["BF16"]["one_row_near_lines"] = 12345;
  content["plans"]["BF16"]["doubt"] = 1e6;
  write(content);
  EXPECT_NE(prepare().one_row.near_lines, 12345);
  EXPECT_LT(read()["plans"]["BF16"]["doubt"], 1e6);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ProductTraversals, OfADamagedFileAreMeasuredAnew) {
  prepare();
  nlohmann::json content = read();
  content["plans"]["BF16"]["one_row_panels"] = 0;
  write(content);
  EXPECT_GE(prepare().one_row.panels, 1);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("plans.BF16.one_row_panels")));
  EXPECT_GE(read()["plans"]["BF16"]["one_row_panels"], 1);
}

TEST_F(ProductTraversals, AreForcedByAVariable) {
  setenv("AUGUR_GEMM_PLAN", "1,0,77,3,24,0,20", 1);
  const GemmTraversal traversal = prepare();
  EXPECT_EQ(traversal, (GemmTraversal{.one_row = {.panels = 1, .near_lines = 0, .far_lines = 77},
                                      .few_rows = {.panels = 3, .near_lines = 24, .far_lines = 0},
                                      .block_kib = 20}));
  for (const char* wrong : {"", "1,2,3", "1,0,0,1,0,0,0", "1,-1,0,1,0,0,1", "1,2,3,4,5,6,7,8",
                            "1,2,3,4,5,6,7x", "1,2,3,4,5,6,", "fast", "65,1,1,1,1,1,1"}) {
    setenv("AUGUR_GEMM_PLAN", wrong, 1);
    EXPECT_THAT(error_of([&] { prepare(); }), HasSubstr("AUGUR_GEMM_PLAN")) << wrong;
  }
  unsetenv("AUGUR_GEMM_PLAN");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

}  // namespace
}  // namespace augur
