#pragma once
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "files/gguf/model.h"
#include "text/tokenizer/loaders.h"

namespace augur::testing_tokenizers {

inline std::string data(const std::string& name) {
  return std::string(AUGUR_SOURCE_DIR) + "/tests/data/tokenizers/" + name;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

inline std::unique_ptr<Tokenizer> load(const std::string& path, const nlohmann::json& config = {}) {
  if (path.ends_with(".gguf")) return load_gguf_tokenizer(*gguf_vocabulary(GgufFile::open(path)));
  if (path.ends_with(".model")) return load_sentencepiece(path, config);
  return load_tokenizer_json(path, config);
}

inline std::unique_ptr<Tokenizer> smollm2() {
  const std::string folder = std::string(AUGUR_SOURCE_DIR) + "/models/smollm2-draft-11m/";
  return load(folder + "tokenizer.json", nlohmann::json::parse(read_text(folder + "tokenizer_config.json")));
}

struct Reference {
  std::string text;
  std::vector<TokenId> ids;
};

/// Of `path`.inp and `path`.out.
inline std::vector<Reference> references(const std::string& path, const std::string& marker) {
  const std::string separator = "\n" + marker + "\n";
  const std::string texts = read_text(path + ".inp");
  std::istringstream ids(read_text(path + ".out"));
  std::vector<Reference> out;
  std::size_t begin = 0;
  for (std::string line; std::getline(ids, line);) {
    Reference reference;
    std::size_t end = texts.find(separator, begin);
    if (end == std::string::npos) end = texts.size();
    reference.text = texts.substr(begin, end - begin);
    begin = end + separator.size();
    std::istringstream numbers(line);
    for (TokenId id; numbers >> id;) reference.ids.push_back(id);
    out.push_back(std::move(reference));
  }
  return out;
}

}  // namespace augur::testing_tokenizers
