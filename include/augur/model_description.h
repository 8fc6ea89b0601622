#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "augur/error.h"
#include "augur/options.h"

namespace augur {
inline namespace abi1 {

/// What a model's files say of it, without its weights being read. Owns all that it has.
struct ModelDescription {
  std::string path;   ///< as it was given; of ModelContent its name
  bool gguf = false;  ///< a GGUF file; otherwise a Hugging Face folder, or a part of one

  /// A file with weights: one, or each of those that the model is split into.
  struct File {
    std::string path;
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;  ///< of these
  };
  std::vector<File> files;  ///< in the order of their names; empty: there are no weights

  struct Shape {
    std::string family;  ///< "llama", "qwen3", ...
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t intermediate = 0;  ///< width of the feed-forward
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t vocab = 0;
    std::int64_t context = 0;      ///< tokens that the model was made for
    bool tied_embeddings = false;  ///< the embedding is the last projection, too
  };
  std::optional<Shape> shape;  ///< of a model; none: the files hold a part of one, a draft head perhaps

  std::int64_t tensors = 0;
  std::int64_t parameters = 0;    ///< numbers in all tensors
  std::int64_t weight_bytes = 0;  ///< of all tensors, as they are stored
  struct WeightType {
    std::string name;  ///< "BF16", "Q4_K", ...
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
  };
  std::vector<WeightType> weight_types;  ///< the one with the most bytes first

  /// What the tokenizer is made from: GGUF's name of its kind ("gpt2", "llama"), or the file
  /// ("tokenizer.json", "tokenizer.model"). Empty: there is none.
  std::string tokenizer;
  std::string chat_template;  ///< its source; empty: there is none

  /// As a draft head it is of this type of `speculation_types()`. Empty: it is none; a whole model of the
  /// same vocabulary drafts as "draft".
  std::string head_type;
  std::string head_target;  ///< the model that the head says it was made for, in words; empty: it does not
  /// The type of the model's own layers that only draft ("mtp"). Empty: it has none.
  std::string own_drafter;

  /// What a GGUF file says beside its tensors, by key, as text. Of arrays with more than 16 items the number
  /// and the type.
  std::map<std::string, std::string> metadata;

  /// What is above and could not be found out, because the files are malformed or not supported there.
  struct Problem {
    ErrorKind kind = ErrorKind::Malformed;
    std::string text;
  };
  std::vector<Problem> problems;
};

/// Describes a Hugging Face folder or GGUF file, a model or a draft head. Reads headers and configurations
/// alone, which takes milliseconds whatever the size. Error where there is nothing, or nothing that is a
/// model; what is wrong within is a problem of the description. Any thread.
ModelDescription describe_model(const std::string& path);
/// The same of a GGUF file in memory or of an open one; `name` stands for its path.
ModelDescription describe_model(const ModelContent& content, const std::string& name = {});

}  // namespace abi1
}  // namespace augur
