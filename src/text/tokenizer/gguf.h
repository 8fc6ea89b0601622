#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/gguf_pre_table.h"
#include "text/tokenizer/pretokenizer.h"

namespace augur {

/// The row with this name in tokenizer.ggml.pre ("" is "default"); null for a name that this project does not
/// know.
const GgufPreTokenizerRow* find_gguf_pre_tokenizer(std::string_view name);

/// The first row that cuts, normalises and writes tokens as `like` does (its names and add_bos do not
/// matter), and treats words that are tokens as it does if there is such a one; null where none cuts so.
const GgufPreTokenizerRow* find_gguf_pre_tokenizer(const GgufPreTokenizerRow& like);

/// The name of a row that is written to files.
std::string_view written_name(const GgufPreTokenizerRow& row);

/// The row's steps, ready for use.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const GgufPreTokenizerRow& row, const std::string& where);

/// The row that a vocabulary's model and tokenizer.ggml.pre name. Error, naming file, key and name, for an
/// unknown one.
const GgufPreTokenizerRow& gguf_pre_tokenizer(std::string_view model, std::string_view name,
                                              const std::string& file);

/// Whether a model of this name is a byte-pair encoding with merges.
bool has_gguf_merges(std::string_view model);

}  // namespace augur
