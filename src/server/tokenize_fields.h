#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "augur/options.h"
#include "server/fields/field_table.h"

namespace augur {

/// llama.cpp's form of /tokenize.
struct ContentToTokenize {
  std::string text;
  bool add_special = false;   ///< with a beginning of sequence, where the tokenizer says so
  bool parse_special = true;  ///< special tokens are recognised in the text
  bool with_pieces = false;   ///< what each token stands for
};

const FieldTable<ContentToTokenize>& tokenize_content_fields();
/// /detokenize. The ids are not negative.
const FieldTable<std::vector<TokenId>>& detokenize_fields();

}  // namespace augur
