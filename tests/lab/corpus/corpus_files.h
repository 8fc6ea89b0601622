#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur::testing_support {

/// A folder of files to read, and the tokenizer of stories260k: SentencePiece, 512 tokens, asks for BOS.
class CorpusFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = folder.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  static std::string content(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryFolder folder;
  std::unique_ptr<Tokenizer> tokenizer =
      Checkpoint::open(std::filesystem::path(AUGUR_SOURCE_DIR) / "models" / "stories260k").load_tokenizer();
};

}  // namespace augur::testing_support
