#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/similar_word.h"
#include "text/tokenizer/gguf.h"

namespace augur {
namespace {

/// The names of a row, one by one, until `f` says true of one.
template <typename F>
bool any_name(const GgufPreTokenizerRow& row, F f) {
  std::string_view names = row.names;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (f(names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

const GgufPreTokenizerRow* find_gguf_pre_tokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  for (const GgufPreTokenizerRow& row : gguf_pre_tokenizers())
    if (any_name(row, [&](std::string_view known) { return known == name; })) return &row;
  return nullptr;
}

const GgufPreTokenizerRow* find_gguf_pre_tokenizer(const GgufPreTokenizerRow& like) {
  const GgufPreTokenizerRow* cuts_alike = nullptr;
  for (const GgufPreTokenizerRow& row : gguf_pre_tokenizers()) {
    if (!std::ranges::equal(row.steps, like.steps) || row.nfc != like.nfc || row.letters != like.letters)
      continue;
    if (row.ignore_merges == like.ignore_merges) return &row;
    if (cuts_alike == nullptr) cuts_alike = &row;
  }
  return cuts_alike;
}

std::string_view written_name(const GgufPreTokenizerRow& row) {
  return row.names.substr(0, row.names.find(' '));
}

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const GgufPreTokenizerRow& row, const std::string& where) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const std::string_view pattern : row.steps) steps.push_back(isolated(pattern, where));
  return in_sequence(std::move(steps));
}

bool has_gguf_merges(std::string_view model) {
  return model == "gpt2" || model == "gemma4" || model == "whitespace";
}

const GgufPreTokenizerRow& gguf_pre_tokenizer(std::string_view model, std::string_view name,
                                              const std::string& file) {
  if (model == "gemma4") name = "gemma4";  // such files need not say it
  if (const GgufPreTokenizerRow* row = find_gguf_pre_tokenizer(name)) return *row;
  std::vector<std::string_view> names;
  for (const GgufPreTokenizerRow& row : gguf_pre_tokenizers())
    any_name(row, [&](std::string_view known) {
      names.push_back(known);
      return false;
    });
  const std::string_view meant = similar_word(name, names);
  throw Error(ErrorKind::Unsupported, "{}: tokenizer.ggml.pre: unknown pre-tokenizer {:?}{}", file, name,
              meant.empty() ? "" : fmt::format(" ({:?} is known)", meant));
}

}  // namespace augur
