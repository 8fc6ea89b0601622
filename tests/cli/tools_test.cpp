#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "support/mtp_models.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(Program, VersionNamesKernelsAndBuild) {
  const Outcome outcome = run_augur({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              MatchesRegex("augur [0-9]+[.][0-9]+[.][0-9]+ [(]([0-9a-f]{12}(-dirty)?|unknown)[)]\n"
                           "kernels: .+\nbuild: .+, .*, .*\n"));
}

TEST(Program, HelpOfEverySubcommand) {
  for (const std::string command : {"generate", "inspect", "tokenize", "convert", "bench"}) {
    const Outcome outcome = run_augur({command, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out,
                HasSubstr(fmt::format("Usage: {} {}", command == "bench" ? "augur-lab" : "augur", command)));
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
  // 260,032 parameters, 704 of them in norms; two bytes each. Feed-forward rows are padded from 172 to 176,
  // and to 192 where they are columns.
  EXPECT_EQ(found["memory"]["weight_bytes"], 2 * (260032 - 704 + 5 * 64 * (20 + 2 * 4)));
  EXPECT_EQ(found["memory"]["kv_bytes_per_token"]["bf16"], 2 * 5 * 4 * 8 * 2);
  EXPECT_TRUE(found["memory"]["kv_bytes_per_token"]["q8_0"].is_null());  // heads of 8
  EXPECT_EQ(found["tokenizer"]["vocabulary"], 512);
  EXPECT_EQ(found["tokenizer"]["bos"]["id"], 1);
  EXPECT_EQ(found["chat_template"], false);
  EXPECT_TRUE(found["problems"].empty());

  const Outcome text = run_augur({"inspect", stories260k()});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("llama"), HasSubstr("260,032"), HasSubstr("5 layers of 64")));
}

TEST(Inspect, TellsOfLayersThatDraft) {
  EXPECT_TRUE(
      json::parse(run_augur({"inspect", stories260k(), "--json"}).out)["weights"]["own_drafter"].is_null());
  const std::filesystem::path folder = testing_support::mtp_model_path("qwen3_5_mtp");
  for (const std::filesystem::path& model : {folder, folder / "model.gguf"}) {
    const Outcome outcome = run_augur({"inspect", model.string(), "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["weights"]["own_drafter"], "mtp");
    EXPECT_THAT(run_augur({"inspect", model.string()}).out, HasSubstr("drafts itself"));
  }
}

TEST(Generate, DraftsWithTheModelsOwnLayersByDefault) {
  const std::string model = (testing_support::mtp_model_path("qwen3_5_mtp") / "model.gguf").string();
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"generate", "-m", model,          "-p",    "One",
                                        "-n",       "12", "--ignore-eos", "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = run_augur(command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  };
  const json plain = run({"--spec-type", "none"});
  const json drafted = run({});
  EXPECT_EQ(drafted["tokens"], plain["tokens"]);
  EXPECT_THAT(drafted["speculation"]["type"].get<std::string>(), HasSubstr("mtp"));
  EXPECT_EQ(run({"--spec-type", "mtp", "--spec-draft-n-max", "3"})["tokens"], plain["tokens"]);
  EXPECT_EQ(run({"-md", model, "--spec-policy", "eagle2"})["tokens"], plain["tokens"]);
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

/// Whatever runs a model for its own sake takes the law that it is to follow.
TEST(Law, IsAFlagOfEveryToolThatRunsAModel) {
  const std::string text = temporary_file("law.txt", "Once upon a time there was a dog. It ran. ").string();
  const std::string out = temporary_file("law.gguf").string();
  const std::vector<std::string> tools[] = {
      {"quantize", stories260k(), out, "q8_0", "--calibrate", text},
      {"bench", "perplexity", "-m", stories260k(), "-f", text, "-c", "8"},
      {"bench", "decode", "-m", stories260k(), "--rows", "1", "--repetitions", "1"},
      {"bench", "vocab", "--shape", "512x64", "--shape-size", "128", "--shape-clusters", "8"},
  };
  for (std::vector<std::string> tool : tools) {
    SCOPED_TRACE(tool[0] + " " + tool[1]);
    tool.insert(tool.end(), {"--law", "blocks"});
    const Outcome blocks = run_augur(tool, {.environment = {"AUGUR_ISA=portable"}});
    EXPECT_EQ(blocks.code, 1);
    EXPECT_THAT(blocks.err, HasSubstr("law 'blocks'"));
    tool.back() = "chain";
    const Outcome chain = run_augur(tool);
    EXPECT_EQ(chain.code, 0) << chain.err;
  }
  const Outcome alone = run_augur({"quantize", stories260k(), out, "q8_0", "--law", "chain"});
  EXPECT_EQ(alone.code, 2) << "nothing is run without a text";
}

/// The texts of a reference file, and the ids that the original tokenizer gives for each.
struct ReferenceText {
  std::string text;
  json ids;
};

std::vector<ReferenceText> reference_texts(const std::string& name, const std::string& separator) {
  const std::string stem = std::string(AUGUR_SOURCE_DIR) + "/tests/data/tokenizers/" + name;
  const auto read = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string texts = read(stem + ".inp");
  std::istringstream ids(read(stem + ".out"));
  std::vector<ReferenceText> result;
  const std::string between = "\n" + separator + "\n";
  std::size_t begin = 0;
  for (std::string line; std::getline(ids, line);) {
    const std::size_t end = std::min(texts.find(between, begin), texts.size());
    ReferenceText reference{texts.substr(begin, end - begin), json::array()};
    std::istringstream numbers(line);
    for (int id = 0; numbers >> id;) reference.ids.push_back(id);
    result.push_back(std::move(reference));
    begin = std::min(end + between.size(), texts.size());
  }
  return result;
}

TEST(Tokenize, GivesTheReferenceIdsInEveryFileFormat) {
  struct Case {
    std::string model, reference, separator;
  };
  const std::string data = std::string(AUGUR_SOURCE_DIR) + "/tests/data/tokenizers/";
  const std::vector<Case> cases = {
      {data + "gpt-2.gguf", "gpt-2.gguf", "__ggml_vocab_test__"},
      {data + "gpt-2.tokenizer.json", "gpt-2.gguf", "__ggml_vocab_test__"},
      {data + "llama-spm.gguf", "llama-spm.gguf", "__ggml_vocab_test__"},
      {data + "llama-spm.tokenizer.model", "llama-spm.gguf", "__ggml_vocab_test__"},
      {std::string(AUGUR_SOURCE_DIR) + "/models/smollm2-draft-11m", "smollm2", "__vocab_test__"},
  };
  // Every text is the tokenizers' own tests' business; a few here show that bytes reach them unchanged.
  constexpr std::size_t kStride = 9;
  for (const Case& c : cases) {
    const std::vector<ReferenceText> references = reference_texts(c.reference, c.separator);
    ASSERT_GT(references.size(), 40u);
    for (std::size_t i = 0; i < references.size(); i += kStride) {
      const Outcome outcome =
          run_augur({"tokenize", "-m", c.model, "-f", "-", "--json"}, {.input = references[i].text});
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(json::parse(outcome.out, nullptr, false), references[i].ids) << c.model << " text " << i;
    }
  }
}

TEST(Inspect, AFileWithOnlyAVocabularyIsNoProblem) {
  const Outcome outcome = run_augur(
      {"inspect", std::string(AUGUR_SOURCE_DIR) + "/tests/data/tokenizers/llama-spm.gguf", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_TRUE(found["weights"].is_null());
  EXPECT_EQ(found["tokenizer"]["vocabulary"], 32000);
}

TEST(Convert, WritesAFolderThatGivesTheSameTokensAndRefusesOneThatIsNotEmpty) {
  const auto folder = temporary_file("converted");
  const Outcome outcome = run_augur({"convert", stories260k(), folder.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> rest = {"-p", "Once", "-n", "50"};
  std::vector<std::string> original = {"generate", "-m", stories260k()};
  std::vector<std::string> converted = {"generate", "-m", folder.string()};
  original.insert(original.end(), rest.begin(), rest.end());
  converted.insert(converted.end(), rest.begin(), rest.end());
  EXPECT_EQ(run_augur(converted).out, run_augur(original).out);

  const Outcome again = run_augur({"convert", stories260k(), folder.string()});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr(folder.string()));
}

TEST(Bench, KernelsWritesTheDocumentedFile) {
  const auto file = temporary_file("kernels.json");
  const Outcome outcome = run_augur({"bench", "kernels", "--k", "256", "--n", "512", "--rows", "1,4",
                                     "--rounds", "1", "-t", "1", "--cache", "8", "--json", file.string()});
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

TEST(Bench, KernelsOfQuantisedWeights) {
  for (const char* type : {"q8_0", "q4_1", "q4_k", "q2_k", "iq4_nl", "mxfp4"}) {
    const Outcome outcome = run_augur({"bench", "kernels", "--k", "256", "--n", "512", "--rows", "1,4",
                                       "--rounds", "1", "--cache", "8", "--dtype", type, "--json", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result["dtype"], type);
    EXPECT_GT(result["peak_gflops"], 0.0);
  }
  EXPECT_EQ(run_augur({"bench", "kernels", "--k", "100", "--n", "512", "--dtype", "q4_0"}).code, 1);
}

TEST(Quantize, WritesPartsThatAreOneModel) {
  const auto folder = temporary_file("parts");
  std::filesystem::create_directory(folder);
  const auto whole = folder / "whole.gguf";
  ASSERT_EQ(run_augur({"quantize", stories260k(), whole.string(), "q8_0"}).code, 0);
  const auto split = folder / "parts.gguf";
  const Outcome written =
      run_augur({"quantize", stories260k(), split.string(), "q8_0", "--split-max-tensors", "20"});
  EXPECT_EQ(written.code, 0) << written.err;
  const auto part = [&](int number) {
    return (folder / fmt::format("parts-0000{}-of-00003.gguf", number)).string();
  };
  EXPECT_NE(written.err.find("written: " + part(3)), std::string::npos) << written.err;

  const json found = json::parse(run_augur({"inspect", part(1), "--json"}).out);
  ASSERT_EQ(found["parts"].size(), 3u) << found.dump(2);
  EXPECT_EQ(found["parts"][1]["tensors"], 20);
  const json alone = json::parse(run_augur({"inspect", whole.string(), "--json"}).out);
  EXPECT_TRUE(alone["parts"].is_null());
  EXPECT_EQ(found["weights"], alone["weights"]);
  EXPECT_NE(run_augur({"inspect", part(1)}).out.find(part(2) + ": 20 tensors"), std::string::npos);

  const auto text_of = [](const std::string& file) {
    return run_augur({"generate", "-m", file, "-p", "Once", "-n", "40"}).out;
  };
  EXPECT_EQ(text_of(part(1)), text_of(whole.string()));
  EXPECT_EQ(text_of(part(2)), text_of(whole.string()));

  // Parts can be put together again, and others made of them.
  const auto merged = folder / "merged.gguf";
  ASSERT_EQ(run_augur({"quantize", part(1), merged.string(), "q8_0"}).code, 0);
  EXPECT_EQ(std::filesystem::file_size(merged), std::filesystem::file_size(whole));
  EXPECT_EQ(run_augur({"quantize", part(1), merged.string(), "q8_0", "--split-max-size", "1M"}).code, 0);
  const std::string only = (folder / "merged-00001-of-00001.gguf").string();
  EXPECT_EQ(text_of(only), text_of(whole.string()));

  std::filesystem::remove(part(2));
  const Outcome missing = run_augur({"inspect", part(1)});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find(part(2) + ": is missing"), std::string::npos) << missing.err;
  for (const char* size : {"0M", "-1M", "5", "5K", "M", "", "5MM", "10000000000G"}) {
    EXPECT_EQ(run_augur({"quantize", stories260k(), split.string(), "q8_0", "--split-max-size", size}).code,
              2)
        << size;
  }
}

TEST(Quantize, WritesAModelThatRunsAndComparesByPerplexity) {
  const auto text = temporary_file("text.txt");
  std::ofstream(text) << run_augur({"generate", "-m", stories260k(), "-p", "Once", "-n", "200"}).out;
  std::map<std::string, double> perplexity;
  for (const char* type : {"f32", "q8_0", "q4_0", "iq4_nl", "mxfp4"}) {
    const auto file = temporary_file(std::string(type) + ".gguf");
    const Outcome outcome = run_augur({"quantize", stories260k(), file.string(), type});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(run_augur({"inspect", file.string()}).code, 0);
    const Outcome scored = run_augur(
        {"bench", "perplexity", "-m", file.string(), "-f", text.string(), "-c", "32", "--json", "-"});
    EXPECT_EQ(scored.code, 0) << scored.err;
    const json result = json::parse(scored.out);
    EXPECT_GT(result["scored"], 30);
    perplexity[type] = result["perplexity"];
  }
  // What the model wrote itself it finds likely.
  EXPECT_LT(perplexity["f32"], 4.0);
  EXPECT_NEAR(perplexity["q8_0"] / perplexity["f32"], 1.0, 0.03);
  EXPECT_NEAR(perplexity["q4_0"] / perplexity["f32"], 1.0, 0.4);
  EXPECT_NEAR(perplexity["iq4_nl"] / perplexity["f32"], 1.0, 0.4);
  EXPECT_NEAR(perplexity["mxfp4"] / perplexity["f32"], 1.0, 0.6);
  EXPECT_EQ(run_augur({"quantize", stories260k(), temporary_file("x.gguf").string(), "q9"}).code, 2);
  EXPECT_EQ(run_augur({"quantize", "/nonexistent", temporary_file("x.gguf").string(), "q8_0"}).code, 1);
  EXPECT_EQ(run_augur({"bench", "perplexity", "-m", stories260k(), "-f", text.string()}).code, 1);
  const std::vector<std::string> bf16_cache = {"bench",       "perplexity", "-m", stories260k(), "-f",
                                               text.string(), "-c",         "32", "--kv-type",   "bf16"};
  EXPECT_EQ(run_augur(bf16_cache).code, 0);
  EXPECT_EQ(run_augur({"bench", "perplexity", "-m", stories260k(), "-f", text.string(), "-c", "32",
                       "--kv-type", "q8_0"})
                .code,
            1);  // heads of 8 are no blocks
}

TEST(Generate, AnEightBitCacheNeedsHeadsOfWholeBlocks) {
  const Outcome outcome =
      run_augur({"generate", "-m", stories260k(), "-p", "Once", "-n", "5", "--kv-type", "q8_0"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("KV cache: heads of 8"));
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

TEST(RandomModel, HasTheTensorsOfAnyFamily) {
  const std::filesystem::path golden = std::filesystem::path(AUGUR_SOURCE_DIR) / "tests/golden/models";
  const auto inspected = [](const std::filesystem::path& model) {
    const Outcome outcome = run_augur({"inspect", model.string(), "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  };
  for (const auto& shapes : std::filesystem::directory_iterator(golden)) {
    SCOPED_TRACE(shapes.path().filename().string());
    const auto out = temporary_file("random-" + shapes.path().filename().string());
    const Outcome made = run_augur({"bench", "random-model", shapes.path().string(), out.string()});
    ASSERT_EQ(made.code, 0) << made.err;
    const json expected = inspected(shapes.path());
    const json found = inspected(out);
    EXPECT_EQ(found["model"], expected["model"]);
    // A layer that drafts, and pictures' part, are beside what the shapes say.
    std::ifstream stored(shapes.path() / "model.safetensors", std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(stored), {}};
    if (file.find("\"mtp.") != std::string::npos || file.find("\"model.visual.") != std::string::npos)
      continue;
    EXPECT_EQ(found["weights"]["tensors"], expected["weights"]["tensors"]);
    EXPECT_EQ(found["weights"]["parameters"], expected["weights"]["parameters"]);
  }
}

TEST(RandomModel, GeneratesTheSameForTheSameSeed) {
  const auto answer = [](const std::string& seed) {
    const auto out = temporary_file("random-" + seed);
    std::filesystem::remove_all(out);
    const Outcome made = run_augur(
        {"bench", "random-model", stories260k(), out.string(), "--tokenizer", stories260k(), "--seed", seed});
    EXPECT_EQ(made.code, 0) << made.err;
    const Outcome refused = run_augur({"bench", "random-model", stories260k(), out.string()});
    EXPECT_THAT(refused.err, HasSubstr("expected a new or empty folder"));
    const Outcome run = run_augur(
        {"generate", "-m", out.string(), "-p", "Once", "-n", "12", "--ignore-eos", "-t", "1", "--json"});
    EXPECT_EQ(run.code, 0) << run.err;
    return json::parse(run.out)["tokens"];
  };
  const json first = answer("1");
  EXPECT_EQ(first.size(), 12U);
  EXPECT_EQ(answer("1"), first);
  EXPECT_NE(answer("2"), first);
}

}  // namespace
}  // namespace augur::test
