#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Program, VersionNamesKernelsAndBuild) {
  const Outcome outcome = run_augur({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("augur "), HasSubstr("kernels: "), HasSubstr("build: ")));
}

TEST(Program, HelpOfEverySubcommand) {
  for (const std::string command : {"generate", "inspect", "tokenize", "convert", "bench"}) {
    const Outcome outcome = run_augur({command, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Usage: augur " + command));
    EXPECT_THAT(run_augur({"--help"}).out, HasSubstr(command));
  }
}

TEST(Program, WithoutASubcommandItSaysWhatIsMissing) {
  const Outcome outcome = run_augur({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("subcommand"), HasSubstr("augur --help")));
  EXPECT_EQ(run_augur({"frobnicate"}).code, 2);
}

TEST(Inspect, TellsWhatAFolderHolds) {
  const Outcome outcome = run_augur({"inspect", stories260k(), "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found["model"]["family"], "llama");
  EXPECT_EQ(found["model"]["layers"], 5);
  EXPECT_EQ(found["model"]["hidden_size"], 64);
  EXPECT_EQ(found["model"]["heads"], 8);
  EXPECT_EQ(found["model"]["kv_heads"], 4);
  EXPECT_EQ(found["model"]["vocabulary"], 512);
  EXPECT_EQ(found["weights"]["parameters"], 260032);
  EXPECT_EQ(found["tokenizer"]["vocabulary"], 512);
  EXPECT_EQ(found["tokenizer"]["bos"]["id"], 1);
  EXPECT_EQ(found["chat_template"], false);
  EXPECT_TRUE(found["problems"].empty());

  const Outcome text = run_augur({"inspect", stories260k()});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("llama"), HasSubstr("260,032"), HasSubstr("5 layers of 64")));
}

TEST(Inspect, ReportsADamagedFileAndStillTellsTheRest) {
  const auto folder = temporary_file("damaged");
  std::filesystem::copy(stories260k(), folder);
  std::filesystem::resize_file(folder / "model.safetensors", 100000);
  const Outcome outcome = run_augur({"inspect", folder.string(), "--json"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("model.safetensors"));
  const json found = json::parse(outcome.out);
  EXPECT_TRUE(found["weights"].is_null());
  EXPECT_EQ(found["model"]["layers"], 5);
  EXPECT_EQ(found["problems"].size(), 1u);
  EXPECT_EQ(run_augur({"generate", "-m", folder.string(), "-p", "x"}).code, 1);
}

TEST(Inspect, AFileThatIsNoModelIsAnError) {
  const auto file = temporary_file("noise.gguf", "GGUF but not really");
  const Outcome outcome = run_augur({"inspect", file.string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("noise.gguf"));
}

TEST(Tokenize, PrintsIdsInThreeForms) {
  const std::string text = "Once upon a time";
  const Outcome array = run_augur({"tokenize", "-m", stories260k(), "-p", text, "--json"});
  EXPECT_EQ(array.code, 0) << array.err;
  const json ids = json::parse(array.out);
  ASSERT_TRUE(ids.is_array());
  EXPECT_EQ(ids, json({403, 407, 261, 378}));

  std::string plain;
  for (const json& id : ids) {
    if (!plain.empty()) plain += ' ';
    plain += id.dump();
  }
  EXPECT_EQ(run_augur({"tokenize", "-m", stories260k(), "-p", text}).out, plain + "\n");

  const Outcome pieces = run_augur({"tokenize", "-m", stories260k(), "-p", text, "--pieces"});
  EXPECT_THAT(pieces.out, StartsWith(ids[0].dump() + "\t"));
}

TEST(Tokenize, ReadsFilesAndStandardInputByteForByte) {
  const std::string text = "A line.\n\nAnother\twith \xf0\x9f\x99\x82 and \xff\n";
  const auto file = temporary_file("text", text);
  const std::string from_file =
      run_augur({"tokenize", "-m", stories260k(), "-f", file.string(), "--json"}).out;
  EXPECT_EQ(run_augur({"tokenize", "-m", stories260k(), "--json"}, {.input = text}).out, from_file);
  EXPECT_GT(json::parse(from_file).size(), 10u);
  EXPECT_EQ(run_augur({"tokenize", "-m", stories260k(), "-p", "", "--json"}).out, "[]\n");
}

TEST(Bench, KernelsWritesTheDocumentedFile) {
  const auto file = temporary_file("kernels.json");
  const Outcome outcome = run_augur({"bench", "kernels", "--k", "256", "--n", "512", "--rows", "1,4",
                                     "--rounds", "1", "-t", "1", "--json", file.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(std::ifstream(file));
  for (const char* key :
       {"cpu", "isa", "threads", "dtype", "k", "n", "read_gb_per_s", "peak_gflops", "gemm"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  ASSERT_EQ(result["gemm"].size(), 2u);
  for (const char* key : {"rows", "ms", "gb_per_s", "gflops", "ratio_to_one_row", "roofline_fraction"}) {
    EXPECT_TRUE(result["gemm"][1].contains(key)) << key;
  }
  EXPECT_EQ(result["gemm"][1]["rows"], 4);
  EXPECT_GT(result["gemm"][1]["ms"], 0.0);
}

TEST(Bench, DecodeMeasuresAModelAndAShape) {
  const std::vector<std::vector<std::string>> models = {
      {"-m", stories260k()},
      {"-m", stories260k() + "/config.json", "--random-weights"},
  };
  for (const auto& model : models) {
    std::vector<std::string> arguments = {"bench", "decode",        "--rows", "1,3",    "--context",
                                          "20",    "--repetitions", "2",      "--json", "-"};
    arguments.insert(arguments.end(), model.begin(), model.end());
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const json result = json::parse(outcome.out);
    ASSERT_EQ(result["rows"].size(), 2u);
    EXPECT_EQ(result["rows"][1]["rows"], 3);
    EXPECT_GT(result["rows"][1]["ms"], 0.0);
    EXPECT_GT(result["memory_limit_fraction"], 0.0);
  }
  EXPECT_EQ(run_augur({"bench", "decode"}).code, 2);
  EXPECT_EQ(run_augur({"bench", "decode", "-m", stories260k(), "--random-weights", "config.json"}).code, 2);
  EXPECT_EQ(run_augur({"bench", "decode", "-m", stories260k(), "--context", "100000"}).code, 1);
}

TEST(Bench, SpecFindsTheSameTokens) {
  const auto file = temporary_file("spec.json");
  const Outcome outcome =
      run_augur({"bench", "spec", "-m", stories260k(), "-md", stories260k(), "-p", "Once upon a time", "-n",
                 "60", "--show", "--rounds", "2", "--json", file.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("---- plain"), HasSubstr("same tokens"), HasSubstr("tokens a call")));
  const json variants = json::parse(std::ifstream(file))["suites"][0]["variants"];
  ASSERT_EQ(variants.size(), 4u);
  for (const json& variant : variants) EXPECT_EQ(variant["different"], 0);
  EXPECT_EQ(variants[0]["mean_accepted_length"], 1.0);
  EXPECT_GT(variants[2]["mean_accepted_length"], 3.0);
}

TEST(Bench, SpecRefusesAVariantItDoesNotKnow) {
  const Outcome outcome =
      run_augur({"bench", "spec", "-m", stories260k(), "-p", "x", "--with", "ngram:n-max=many"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("n-max"));
}

}  // namespace
}  // namespace augur::test
