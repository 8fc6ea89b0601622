#include "model/quantize_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "checkpoint/token_ids.h"
#include "files/gguf/model.h"
#include "files/json_reader.h"
#include "files/safetensors.h"
#include "files/safetensors_writer.h"
#include "model/prefill.h"
#include "support/error_of.h"
#include "support/golden_models.h"
#include "support/quantised_models.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;
using testing_support::plain_log_probs;
using testing_support::stories_path;
using testing_support::TemporaryFolder;

const char* const kText = "Once upon a time, there was a little girl named Lily. She";

class QuantizeModel : public testing::Test {
 protected:
  std::filesystem::path write(const std::filesystem::path& in, DType type) {
    const std::filesystem::path out = folder_.path() / "out.gguf";
    ThreadPool pool(2);
    quantize_model(pool, Checkpoint::open(in), out, {.type = type});
    return out;
  }
  std::vector<float> log_probs(const std::filesystem::path& path, WeightFormat weights) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    const auto model = Model::load(backend_, checkpoint, {.weights = weights});
    return plain_log_probs(*model, checkpoint.load_tokenizer()->encode(kText));
  }

  TemporaryFolder folder_;
  Backend backend_{2};
};

TEST_F(QuantizeModel, AFloatFileIsTheSameModel) {
  const std::vector<float> expected = log_probs(stories_path(), WeightFormat::F32);
  EXPECT_EQ(log_probs(write(stories_path(), DType::F32), WeightFormat::F32), expected);
  EXPECT_EQ(log_probs(write(stories_path(), DType::BF16), WeightFormat::BF16),
            log_probs(stories_path(), WeightFormat::BF16));
  const Checkpoint folder = Checkpoint::open(stories_path());
  const Checkpoint file = Checkpoint::open(folder_.path() / "out.gguf");
  const auto a = folder.load_tokenizer();
  const auto b = file.load_tokenizer();
  EXPECT_EQ(a->encode(kText), b->encode(kText));
  EXPECT_EQ(a->bos, b->bos);
  EXPECT_EQ(a->eos, b->eos);
  EXPECT_EQ(a->add_bos, b->add_bos);
}

TEST_F(QuantizeModel, AByteLevelVocabularyGivesTheSameIds) {
  const std::filesystem::path in = std::filesystem::path(AUGUR_SOURCE_DIR) / "models" / "smollm2-draft-11m";
  const Checkpoint folder = Checkpoint::open(in);
  const Checkpoint file = Checkpoint::open(write(in, DType::Q4_0));
  const auto a = folder.load_tokenizer();
  const auto b = file.load_tokenizer();
  for (const char* text :
       {"Hello, world! 12345", "  if (x) {\n\treturn;\n}", "<|im_start|>user\nÄtna 漢字"}) {
    EXPECT_EQ(a->encode(text), b->encode(text)) << text;
  }
  EXPECT_EQ(file.chat_template(), folder.chat_template());
  EXPECT_EQ(file.gguf()->find_string("tokenizer.ggml.pre"), "smollm");
}

TEST_F(QuantizeModel, KeepsThreeEndTokens) {
  const std::filesystem::path in = folder_.path() / "in";
  std::filesystem::copy(stories_path(), in);
  std::ofstream(in / "generation_config.json") << R"({"eos_token_id":[5,2,7],"suppress_tokens":[9,8]})";
  const auto expected = Checkpoint::open(in).load_tokenizer()->eos;
  ASSERT_EQ(expected.size(), 3u);
  const Checkpoint written = Checkpoint::open(write(in, DType::Q8_0));
  EXPECT_EQ(written.load_tokenizer()->eos, expected);
  EXPECT_EQ(suppressed_tokens(written, *written.load_tokenizer()), (std::vector<TokenId>{9, 8}));
}

/// Fewer bits, less of the model; but the model.
TEST_F(QuantizeModel, QuantisedFilesStayClose) {
  const std::vector<float> exact = log_probs(stories_path(), WeightFormat::F32);
  double last = 0;
  for (const DType type : {DType::Q8_0, DType::Q4_1}) {
    const std::vector<float> got = log_probs(write(stories_path(), type), WeightFormat::Native);
    double divergence = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      divergence += std::exp(double{exact[i]}) * (double{exact[i]} - double{got[i]});
    }
    EXPECT_LT(divergence, type == DType::Q8_0 ? 0.003 : 0.4) << name(type);
    EXPECT_GT(divergence, last) << name(type);
    last = divergence;
  }
}

TEST_F(QuantizeModel, ExpertsLieSideBySide) {
  constexpr int kExperts = 12;  // two digits: their order is that of numbers
  testing_support::write_random_model(folder_.path(), kExperts);
  const std::vector<float> expected = log_probs(folder_.path(), WeightFormat::F32);
  EXPECT_EQ(log_probs(write(folder_.path(), DType::F32), WeightFormat::F32), expected);
  for (const DType type : {DType::BF16, DType::Q8_0, DType::Q4_K}) {
    const std::filesystem::path file = write(folder_.path(), type);
    const GgufFile gguf = GgufFile::open(file);
    std::map<std::string, StoredTensor> tensors;
    for (const GgufTensorInfo& info : gguf.tensor_infos()) tensors.emplace(info.name, gguf.tensor(info));
    EXPECT_EQ(tensors.at("blk.1.ffn_down_exps.weight").shape, (Shape{kExperts, 256, 256}));
    EXPECT_EQ(tensors.at("blk.1.ffn_down_exps.weight").dtype, type);
    EXPECT_EQ(tensors.at("blk.1.ffn_gate_inp.weight").dtype, DType::F32);
    const std::vector<float> once = log_probs(file, WeightFormat::Native);
    const std::filesystem::path again = folder_.path() / "again.gguf";
    ThreadPool pool(2);
    quantize_model(pool, Checkpoint::open(file), again, {.type = type});
    EXPECT_EQ(log_probs(again, WeightFormat::Native), once) << name(type) << " of " << name(type);
  }
}

/// A golden model with the vocabulary of stories260k: what rows of tokens it lacks are others'.
void write_golden(const std::string& name, const std::filesystem::path& folder) {
  constexpr std::int64_t kVocab = 512;
  std::filesystem::copy_file(stories_path() / "tokenizer.model", folder / "tokenizer.model",
                             std::filesystem::copy_options::overwrite_existing);
  const std::filesystem::path golden = testing_support::golden_model_path(name);
  nlohmann::json config = read_json(golden / "config.json");
  nlohmann::json& text = config.contains("text_config") ? config["text_config"] : config;
  text.update({{"vocab_size", kVocab}, {"bos_token_id", 1}, {"eos_token_id", 2}});
  std::ofstream(folder / "config.json") << config;
  const auto store = open_safetensors(golden / "model.safetensors");
  std::vector<SafetensorsWriter::Entry> entries;
  const auto is_vocabulary = [](const std::string& tensor) {
    return tensor.find("embed_tokens") != std::string::npos || tensor.find("lm_head") != std::string::npos ||
           tensor == "backbone.embeddings.weight";
  };
  for (const auto& [key, tensor] : store->tensors()) {
    Shape shape = tensor.shape;
    if (is_vocabulary(key)) shape[0] = kVocab;
    entries.push_back({.name = key, .dtype = tensor.dtype, .shape = shape});
  }
  SafetensorsWriter writer(folder / "model.safetensors", entries);
  for (const auto& [key, tensor] : store->tensors()) {
    if (!is_vocabulary(key)) {
      writer.write(tensor.bytes);
      continue;
    }
    const auto rows = static_cast<std::size_t>(tensor.shape[0]);
    const std::size_t bytes = tensor.bytes.size() / rows;
    for (std::size_t r = 0; r < kVocab; ++r) writer.write(tensor.bytes.subspan(r % rows * bytes, bytes));
  }
  writer.finish();
}

/// From a folder, and from the file again. What GGUF cannot say of a model is refused, by name.
TEST_F(QuantizeModel, AFileOfEveryFamilyIsTheSameModel) {
  const std::map<std::string, std::string> refused = {{"dynamic_rope", "rope_scaling"},
                                                      {"granite_swa", "layer_rope_theta"},
                                                      {"smollm3", "no_rope_layers"},
                                                      {"gemma2", "query_pre_attn_scalar"},
                                                      {"gemma3", "query_pre_attn_scalar"},
                                                      {"qwen2_moe", "experts differ"},
                                                      {"qwen3_moe", "experts differ"},
                                                      {"lfm2_bias", "conv_bias"},
                                                      {"granite4_hybrid_rope", "time_step_limit"},
                                                      {"nemotron_h_both", "layers_block_type"},
                                                      {"qwen3_next_uneven", "linear_value_head_dim"}};
  for (const std::string& name : testing_support::golden_model_names()) {
    SCOPED_TRACE(name);
    write_golden(name, folder_.path());
    if (const auto known = refused.find(name); known != refused.end()) {
      EXPECT_THAT(error_of([&] { write(folder_.path(), DType::F32); }), HasSubstr(known->second));
      continue;
    }
    const std::vector<float> expected = log_probs(folder_.path(), WeightFormat::F32);
    std::filesystem::path out = write(folder_.path(), DType::F32);
    for (const char* from : {"folder", "file"}) {
      const std::vector<float> found = log_probs(out, WeightFormat::F32);
      ASSERT_EQ(found.size(), expected.size());
      double worst = 0;  // the metadata are float32
      for (std::size_t i = 0; i < found.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
      }
      EXPECT_LT(worst, 1e-4) << from;
      const std::filesystem::path first = folder_.path() / "first.gguf";
      std::filesystem::rename(out, first);
      out = write(first, DType::F32);
    }
  }
}

/// Four bits and a power of two are exact, whatever scale they are written with.
TEST_F(QuantizeModel, GptOssKeepsItsExpertsAndItsSinks) {
  write_golden("gpt_oss_mxfp4", folder_.path());
  const std::vector<float> expected = log_probs(folder_.path(), WeightFormat::F32);
  for (const DType type : {DType::F32, DType::BF16, DType::MXFP4, DType::Q2_K}) {
    const std::filesystem::path out = write(folder_.path(), type);
    const GgufFile file = GgufFile::open(out);
    std::map<std::string, StoredTensor> tensors;
    for (const GgufTensorInfo& info : file.tensor_infos()) tensors.emplace(info.name, file.tensor(info));
    EXPECT_EQ(tensors.at("blk.1.ffn_gate_exps.weight").shape, (Shape{5, 32, 64}));
    EXPECT_EQ(tensors.at("blk.1.ffn_gate_exps.bias").shape, (Shape{5, 32}));
    EXPECT_EQ(tensors.at("blk.1.ffn_gate_exps.bias").dtype, DType::F32);
    EXPECT_EQ(tensors.at("blk.0.attn_sinks.weight").shape, (Shape{4}));
    EXPECT_EQ(file.find_int("gpt-oss.attention.sliding_window"), 24);
    EXPECT_EQ(tensors.at("blk.1.ffn_down_exps.weight").dtype, DType::MXFP4);
    if (type == DType::F32 || type == DType::BF16) {  // others have fewer bits in attention
      EXPECT_EQ(log_probs(out, WeightFormat::F32), expected) << name(type);
    }
  }
}

TEST_F(QuantizeModel, AMissingExpertIsNamed) {
  testing_support::write_random_model(folder_.path(), 3);
  const std::filesystem::path config = folder_.path() / "config.json";
  nlohmann::json four = nlohmann::json::parse(std::ifstream(config));
  four["num_experts"] = 4;
  std::ofstream(config) << four;
  const std::string error = error_of([&] { write(folder_.path(), DType::Q8_0); });
  EXPECT_THAT(error, HasSubstr("blk.0.ffn_down_exps.weight: expert 3 of 4 is missing"));
}

TEST_F(QuantizeModel, TypesFollowTheRows) {
  testing_support::write_random_model(folder_.path());
  const Checkpoint file = Checkpoint::open(write(folder_.path(), DType::Q4_K));
  const auto type_of = [&](const char* tensor) {
    const StoredTensor* found = file.weights().find(tensor);
    return found == nullptr ? DType::Bool : found->dtype;
  };
  EXPECT_EQ(type_of("model.layers.1.self_attn.q_proj.weight"), DType::Q4_K);
  EXPECT_EQ(type_of("lm_head.weight"), DType::Q6_K);
  EXPECT_EQ(type_of("model.embed_tokens.weight"), DType::Q6_K);
  EXPECT_EQ(type_of("model.norm.weight"), DType::F32);
  const Checkpoint small = Checkpoint::open(write(stories_path(), DType::Q4_K));
  EXPECT_EQ(small.weights().find("model.layers.0.self_attn.q_proj.weight")->dtype, DType::Q4_1);
  EXPECT_EQ(small.weights().find("model.embed_tokens.weight")->dtype, DType::Q8_0);
  EXPECT_EQ(small.weights().find("model.layers.0.mlp.down_proj.weight")->dtype, DType::BF16);
  for (const DType type : {DType::Q2_K, DType::Q3_K, DType::IQ4_XS, DType::IQ4_NL, DType::MXFP4}) {
    const Checkpoint low = Checkpoint::open(write(folder_.path(), type));
    EXPECT_EQ(low.weights().find("model.layers.1.self_attn.q_proj.weight")->dtype, type);
    EXPECT_EQ(low.weights().find("lm_head.weight")->dtype, DType::Q6_K);
    const DType fallback = block_shape(type).elements == 32 ? type : DType::IQ4_NL;
    const Checkpoint stories = Checkpoint::open(write(stories_path(), type));
    EXPECT_EQ(stories.weights().find("model.layers.0.self_attn.q_proj.weight")->dtype, fallback);
  }
}

/// From GGUF to GGUF: what has its type already is copied, what has not is made anew; nothing else changes.
TEST_F(QuantizeModel, RewritesGgufFiles) {
  const std::filesystem::path first = folder_.path() / "first.gguf";
  std::filesystem::rename(write(stories_path(), DType::Q8_0), first);
  const GgufFile a = GgufFile::open(first);
  const GgufFile same = GgufFile::open(write(first, DType::Q8_0));
  ASSERT_EQ(same.metadata().size(), a.metadata().size());
  ASSERT_EQ(same.tensor_infos().size(), a.tensor_infos().size());
  for (std::size_t i = 0; i < a.tensor_infos().size(); ++i) {
    const StoredTensor x = a.tensor(a.tensor_infos()[i]);
    const StoredTensor y = same.tensor(same.tensor_infos()[i]);
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.dtype, y.dtype);
    EXPECT_TRUE(std::equal(x.bytes.begin(), x.bytes.end(), y.bytes.begin(), y.bytes.end())) << x.name;
  }
  const Checkpoint four = Checkpoint::open(write(first, DType::Q4_0));
  EXPECT_EQ(four.weights().find("model.layers.0.self_attn.q_proj.weight")->dtype, DType::Q4_0);
  EXPECT_TRUE(four.weights().find("model.layers.0.self_attn.q_proj.weight")->interleaved_heads > 0);
}

TEST_F(QuantizeModel, WhatCannotBeWrittenLeavesNothingBehind) {
  testing_support::write_random_model(folder_.path());
  std::ifstream in(folder_.path() / "config.json");
  std::string config((std::istreambuf_iterator<char>(in)), {});
  in.close();
  config.insert(1, R"("rope_scaling": {"rope_type": "dynamic", "factor": 2.0}, )");
  std::ofstream(folder_.path() / "config.json") << config;
  try {
    write(folder_.path(), DType::Q8_0);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rope_scaling"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.gguf"));
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Loads and runs a file; the error where there is one.
std::string outcome(Backend& backend, const std::filesystem::path& path) {
  try {
    const Checkpoint checkpoint = Checkpoint::open(path);
    const auto model = Model::load(backend, checkpoint);
    const std::vector<TokenId> text = {1, 2, 3};
    plain_log_probs(*model, text);
    return "ran";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_F(QuantizeModel, DamagedFilesAreErrorsOrModels) {
  testing_support::write_random_model(folder_.path());
  const std::string whole = read_bytes(write(folder_.path(), DType::Q4_K));
  const std::filesystem::path damaged = folder_.path() / "damaged.gguf";
  const auto put = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  };
  for (const double part : {0.0, 0.001, 0.02, 0.3, 0.9, 0.99999}) {
    put(whole.substr(0, static_cast<std::size_t>(part * static_cast<double>(whole.size()))));
    const std::string error = outcome(backend_, damaged);
    EXPECT_THAT(error, HasSubstr("damaged.gguf")) << part;
  }
  std::mt19937 random(1);
  const std::size_t header = whole.size() / 40;  // all of it, and some weights
  for (int i = 0; i < 60; ++i) {
    std::string bytes = whole;
    for (int j = 0; j < 3; ++j) bytes[random() % header] = static_cast<char>(random());
    put(bytes);
    outcome(backend_, damaged);  // either, but no crash
  }
}

/// Whatever the header says of a tensor is needed, and what is said wrongly contradicts something else: the
/// other tensors' places, the model's shapes, the names it needs. Types of one size (Q4_0, Q4_K, IQ4_NL and
/// NVFP4, for instance) are the exception; weights have no second copy at all.
TEST_F(QuantizeModel, NoWordAboutATensorCanBeWrong) {
  testing_support::write_random_model(folder_.path());
  const std::filesystem::path original = write(folder_.path(), DType::Q4_0);
  const std::string whole = read_bytes(original);
  const std::filesystem::path damaged = folder_.path() / "damaged.gguf";
  const auto expect_refused = [&](const GgufTensorInfo& tensor, const char* what, std::size_t at,
                                  auto value) {
    std::string bytes = whole;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    std::ofstream(damaged, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    EXPECT_THAT(outcome(backend_, damaged), HasSubstr("damaged.gguf"))
        << tensor.name << ": " << what << " " << +value;
  };
  const GgufFile file = GgufFile::open(original);
  for (const GgufTensorInfo& tensor : file.tensor_infos()) {
    if (tensor.name.starts_with("blk.1.")) continue;  // as blk.0, and this takes a while
    const auto length = static_cast<std::uint64_t>(tensor.name.size());
    const std::string stored_name = std::string(reinterpret_cast<const char*>(&length), 8) + tensor.name;
    const std::size_t name_end = whole.find(stored_name) + stored_name.size();
    for (const std::size_t letter : {tensor.name.size(), std::size_t{3}, std::size_t{1}}) {
      expect_refused(tensor, "name", name_end - letter, static_cast<char>(whole[name_end - letter] ^ 1));
    }
    const auto dimensions = static_cast<std::uint32_t>(tensor.shape.size());
    expect_refused(tensor, "dimensions", name_end, dimensions == 1 ? 2u : 1u);
    const std::size_t sizes = name_end + 4;
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      const std::int64_t size = tensor.shape[tensor.shape.size() - 1 - d];
      for (const std::int64_t other : {size - 32, size - 1, size + 1, size + 32, size / 2, 2 * size}) {
        expect_refused(tensor, "size", sizes + 8 * d, other);
      }
    }
    const std::size_t type = sizes + 8 * tensor.shape.size();
    const auto same_size = [&](std::uint32_t other) {
      return tensor.type == 2 && (other == 12 || other == 20 || other == 40);
    };
    for (const std::uint32_t other : {0u,  1u,  2u,  3u,  6u,  7u,  8u,  10u, 11u, 12u, 14u, 16u, 18u, 19u,
                                      20u, 21u, 23u, 24u, 26u, 29u, 30u, 31u, 34u, 35u, 39u, 40u, 41u}) {
      if (other != tensor.type && !same_size(other)) expect_refused(tensor, "type", type, other);
    }
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{32}, std::uint64_t{4096}}) {
      expect_refused(tensor, "offset", type + 4, tensor.offset + step);
      expect_refused(tensor, "offset", type + 4, tensor.offset - step);
    }
  }
}

/// Half numbers of ones only: in whatever tensor they lie.
TEST_F(QuantizeModel, ScalesAreNumbers) {
  testing_support::write_random_model(folder_.path());
  const std::filesystem::path damaged = folder_.path() / "damaged.gguf";
  for (const DType type : {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q4_K, DType::Q3_K, DType::Q2_K,
                           DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4}) {
    std::string bytes = read_bytes(write(folder_.path(), type));
    std::fill_n(bytes.begin() + std::ssize(bytes) / 2, 400, '\xff');
    std::ofstream(damaged, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    const std::string error = outcome(backend_, damaged);
    EXPECT_THAT(error, HasSubstr("damaged.gguf: tensor ")) << name(type);
    EXPECT_THAT(error, HasSubstr(": a scale is no number")) << name(type);
  }
}

/// Two times the tensor's size is not there; half a block is none.
TEST_F(QuantizeModel, AbsurdShapesAreRefused) {
  testing_support::write_random_model(folder_.path());
  const std::string whole = read_bytes(write(folder_.path(), DType::Q8_0));
  const std::string name = "blk.0.attn_q.weight";
  const std::size_t at = whole.find(name) + name.size() + 4;  // behind the number of dimensions
  ASSERT_LT(at, whole.size());
  for (const std::int64_t columns :
       {std::int64_t{0}, std::int64_t{8}, std::int64_t{512}, std::int64_t{1} << 40, std::int64_t{-32}}) {
    std::string bytes = whole;
    std::memcpy(bytes.data() + at, &columns, sizeof columns);
    const std::filesystem::path damaged = folder_.path() / "damaged.gguf";
    std::ofstream(damaged, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    const std::string error = outcome(backend_, damaged);
    EXPECT_THAT(error, HasSubstr("damaged.gguf")) << columns;
    EXPECT_THAT(error, testing::AnyOf(HasSubstr("attn_q.weight"), HasSubstr("q_proj.weight"))) << columns;
  }
}

TEST_F(QuantizeModel, NumbersThatCannotBeStoredAreRefused) {
  testing_support::write_random_model(folder_.path());
  std::string bytes = read_bytes(folder_.path() / "model.safetensors");
  for (const float value : {NAN, 1e10f}) {  // none, or one whose block has no scale
    std::memcpy(bytes.data() + bytes.size() - 400000, &value, sizeof value);
    std::ofstream(folder_.path() / "model.safetensors", std::ios::binary)
        .write(bytes.data(), std::ssize(bytes));
    const std::string error = error_of([&] { write(folder_.path(), DType::Q8_0); });
    EXPECT_THAT(error, HasSubstr("model.safetensors")) << value;
    EXPECT_THAT(error, HasSubstr("model.layers.1.")) << value;
  }
}

TEST_F(QuantizeModel, AnImportanceMatrixChangesTheMatricesThatItLists) {
  testing_support::write_random_model(folder_.path());
  const Checkpoint in = Checkpoint::open(folder_.path());
  ThreadPool pool(2);
  const auto rows = [&](const ImportanceMatrix* importance, const char* name) {
    const std::filesystem::path out = folder_.path() / "out.gguf";
    quantize_model(pool, in, out, {.type = DType::Q4_0, .importance = importance});
    const Checkpoint written = Checkpoint::open(out);
    const StoredTensor& tensor = *written.weights().find(name);
    return std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end());
  };
  std::vector<float> columns(256, 1.0f);
  for (std::size_t i = 0; i < columns.size(); i += 3) columns[i] = 100.0f;
  ImportanceMatrix importance;
  importance.set("blk.0.attn_q.weight", columns);
  const char* listed = "model.layers.0.self_attn.q_proj.weight";
  const char* other = "model.layers.1.self_attn.q_proj.weight";
  EXPECT_NE(rows(&importance, listed), rows(nullptr, listed));
  EXPECT_EQ(rows(&importance, other), rows(nullptr, other));
}

TEST_F(QuantizeModel, AnImportanceMatrixMayWeighEachExpert) {
  constexpr std::size_t kExperts = 3, kColumns = 256;
  testing_support::write_random_model(folder_.path(), kExperts);
  const Checkpoint in = Checkpoint::open(folder_.path());
  ThreadPool pool(2);
  const auto experts = [&](const std::vector<float>& columns) {
    ImportanceMatrix importance;
    importance.set("blk.0.ffn_up_exps.weight", columns);
    const std::filesystem::path out = folder_.path() / "out.gguf";
    quantize_model(pool, in, out, {.type = DType::Q4_0, .importance = &importance});
    const Checkpoint written = Checkpoint::open(out);
    std::vector<std::vector<std::byte>> each;
    for (std::size_t e = 0; e < kExperts; ++e) {
      const StoredTensor& tensor =
          *written.weights().find("model.layers.0.mlp.experts." + std::to_string(e) + ".up_proj.weight");
      each.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
    }
    return each;
  };
  std::vector<float> even(kColumns, 1.0f), uneven(kColumns, 1.0f);
  for (std::size_t i = 0; i < kColumns; i += 3) uneven[i] = 100.0f;
  std::vector<float> second_uneven = even;
  second_uneven.insert(second_uneven.end(), uneven.begin(), uneven.end());
  second_uneven.insert(second_uneven.end(), even.begin(), even.end());
  const auto all_even = experts(even), all_uneven = experts(uneven), mixed = experts(second_uneven);
  EXPECT_NE(all_uneven[1], all_even[1]);
  EXPECT_EQ(mixed[0], all_even[0]);
  EXPECT_EQ(mixed[1], all_uneven[1]);
  EXPECT_EQ(mixed[2], all_even[2]);
}

TEST_F(QuantizeModel, AnImportanceMatrixOfAnotherModelIsRefused) {
  testing_support::write_random_model(folder_.path());
  ThreadPool pool(1);
  const auto refusal = [&](const char* name, std::size_t columns) {
    ImportanceMatrix importance;
    importance.set(name, std::vector<float>(columns, 1.0f));
    return error_of([&] {
      quantize_model(pool, Checkpoint::open(folder_.path()), folder_.path() / "out.gguf",
                     {.type = DType::Q4_0, .importance = &importance});
    });
  };
  EXPECT_THAT(refusal("blk.0.attn_q.weight", 255),
              HasSubstr("blk.0.attn_q.weight: 255 columns, the matrix has 256"));
  EXPECT_THAT(refusal("layers.0.wq", 256), HasSubstr("has none of this model's matrices"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.gguf"));
}

}  // namespace
}  // namespace augur
